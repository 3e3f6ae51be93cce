import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { SnapshotRepository } from '../snapshots/snapshot-repository.sql.ts';
import type {
  FleetHealth,
  FleetStats,
  FleetStatsRows,
  FleetStatus,
  NodeResponse,
} from './node-answers.ts';
import { NodeDumps, type WorkerDump } from './node-dumps.ts';
import { NodeRegistry } from './node-registry.ts';
import { toNodeResponse } from './node-response.ts';
import type { DumpQuery, NodeScope } from './proxy-nodes.dto.ts';
import { ProxyNodesService } from './proxy-nodes.service.ts';

/** Shows what nodes run and hold in memory: of the whole fleet, or of the node in `node_id`. */
@Injectable()
export class FleetStatusService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly nodes: ProxyNodesService,
    private readonly registry: NodeRegistry,
    private readonly repository: SnapshotRepository,
    private readonly dumps: NodeDumps,
  ) {}

  async status({ node_id: nodeId }: NodeScope): Promise<FleetStatus> {
    const nodes = await this.look(nodeId);
    const latest = await this.repository.latest(this.dataSource.manager);
    const { pinnedVersion } = await this.repository.settings(this.dataSource.manager, {
      isLocked: false,
    });
    return {
      version: latest?.version ?? null,
      checksum: latest?.checksum ?? null,
      pinned_version: pinnedVersion,
      nodes,
    };
  }

  /** Returns the health of nodes. A node is healthy when it serves the published configuration; `status` summarises: ok, degraded (some), down (none). */
  async health({ node_id: nodeId }: NodeScope): Promise<FleetHealth> {
    const latest = await this.repository.latest(this.dataSource.manager);
    const nodes = (await this.look(nodeId)).map((node) => ({
      id: node.id,
      name: node.name,
      state: node.state,
      ...healthOf(node, latest?.version ?? 0),
    }));
    const healthy = nodes.filter((node) => node.healthy).length;
    const status =
      healthy === nodes.length && healthy > 0 ? 'ok' : healthy > 0 ? 'degraded' : 'down';
    return { status, nodes };
  }

  async stats({ node_id: nodeId }: NodeScope): Promise<FleetStats> {
    const workers = await this.dumps.ask(await this.nodes.scope(nodeId), {
      table: null,
      page: 1,
      page_size: 1,
    });
    return {
      nodes: workers.map(({ dump, ...worker }) => ({
        ...worker,
        outcome: outcomeOf(dump),
        tables: dump?.tables ?? [],
      })),
    };
  }

  /** Uses the first table that each worker lists, where no table is given. */
  async statsRows(query: DumpQuery): Promise<FleetStatsRows> {
    const nodes = await this.nodes.scope(query.node_id);
    const table = query.table ?? (await this.firstTable(nodes));
    const workers = await this.dumps.ask(nodes, { ...query, table });
    return {
      table,
      page: query.page,
      page_size: query.page_size,
      nodes: workers.map(({ dump, ...worker }) => ({
        ...worker,
        outcome: outcomeOf(dump),
        total: dump?.total ?? 0,
        rows: dump?.rows ?? [],
      })),
    };
  }

  private async firstTable(nodes: readonly { id: number; name: string }[]): Promise<string | null> {
    const workers = await this.dumps.ask(nodes, { table: null, page: 1, page_size: 1 });
    return workers.flatMap(({ dump }) => dump?.tables ?? [])[0]?.table ?? null;
  }

  private async look(nodeId?: number): Promise<NodeResponse[]> {
    const nodes = await this.nodes.scope(nodeId);
    await this.registry.look();
    return nodes.map((row) => toNodeResponse(row, this.registry.watch));
  }
}

function healthOf(node: NodeResponse, published: number): { healthy: boolean; reasons: string[] } {
  const live = node.workers.filter((worker) => worker.state !== 'offline');
  const reasons = [
    ...(node.state === 'online' ? [] : [`the node is ${node.state}`]),
    ...(live.length > 0 && live.length < node.workers.length ? ['a worker is silent'] : []),
    ...(live.some((worker) => worker.version < published)
      ? [`it does not run version ${published} yet`]
      : []),
    ...live.flatMap((worker) =>
      worker.refused === null
        ? []
        : [`worker ${worker.worker} refuses the snapshot: ${worker.refused}`],
    ),
  ];
  return { healthy: reasons.length === 0, reasons };
}

function outcomeOf(dump: WorkerDump['dump']): 'answered' | 'timeout' {
  return dump === null ? 'timeout' : 'answered';
}
