import { Injectable } from '@nestjs/common';
import { FleetStore } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import type { Caller } from '../../platform/access/caller.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { SnapshotRepository } from '../snapshots/snapshot-repository.ts';
import { SnapshotPublisher } from '../snapshots/snapshot-publisher.ts';
import { ConfigCheck } from './config-check.ts';
import type {
  ConfigCheckResult,
  FleetHealth,
  FleetStats,
  FleetStatsRows,
  FleetStatus,
  NodeResponse,
  SyncResult,
} from './node-answers.ts';
import { NodeDumps, type WorkerDump } from './node-dumps.ts';
import { NodeRegistry } from './node-registry.ts';
import { toNodeResponse } from './node-response.ts';
import type { DumpQuery, NodeScope } from './proxy-nodes.dto.ts';
import { ProxyNodesService } from './proxy-nodes.service.ts';

/** `proxy/*`: the fleet as a whole, or the one node named by `node_id`. */
@Injectable()
export class ProxyService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly transactions: Transactions,
    private readonly nodes: ProxyNodesService,
    private readonly registry: NodeRegistry,
    private readonly publisher: SnapshotPublisher,
    private readonly repository: SnapshotRepository,
    private readonly fleet: FleetStore,
    private readonly dumps: NodeDumps,
    private readonly checker: ConfigCheck,
    private readonly activity: ActivityService,
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

  /** A node is healthy when it serves what is published; `status` sums up: ok, degraded (some), down (none). */
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

  async setStopped(caller: Caller, isStopped: boolean, { node_id: nodeId }: NodeScope) {
    return { nodes: await this.nodes.setStopped(caller, isStopped, nodeId) };
  }

  /** Has nodes pull the current version again; nothing is compiled. */
  async reload(caller: Caller, { node_id: nodeId }: NodeScope) {
    const nodes = await this.nodes.scope(nodeId);
    await this.record(caller, 'fleet.reload', nodeId);
    await this.fleet.announce({
      kind: 'reload',
      node: nodeId === undefined ? null : (nodes[0]?.name ?? null),
    });
    return {
      version: await this.fleet.currentVersion(),
      nodes: nodes.map(({ id, name }) => ({ id, name })),
    };
  }

  /** Publishes without waiting for anybody. */
  async publish(caller: Caller, { node_id: nodeId }: NodeScope) {
    const nodes = await this.nodes.scope(nodeId);
    await this.record(caller, 'fleet.publish', nodeId);
    const head = await this.publisher.publish();
    await this.fleet.announce(
      nodeId === undefined
        ? { kind: 'snapshot', version: head.version }
        : { kind: 'reload', node: nodes[0]?.name ?? null },
    );
    return {
      version: head.version,
      checksum: head.checksum,
      pinned_version: head.pinnedVersion,
      nodes: nodes.map(({ id, name }) => ({ id, name })),
    };
  }

  async syncAndWait(caller: Caller, nodeId?: number): Promise<SyncResult> {
    if (nodeId !== undefined) await this.nodes.get(nodeId);
    await this.record(caller, 'fleet.sync', nodeId);
    return this.nodes.sync(nodeId);
  }

  async configCheck({ node_id: nodeId }: NodeScope): Promise<ConfigCheckResult> {
    await this.nodes.scope(nodeId);
    return this.checker.check(nodeId);
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

  /** Without a table: the first each worker names. */
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

  private record(caller: Caller, action: string, nodeId: number | undefined): Promise<void> {
    return this.transactions.run(async (tx) => {
      this.activity.record(tx, caller, {
        action,
        target: { kind: nodeId === undefined ? 'fleet' : 'node', id: nodeId ?? null },
      });
    });
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
