import { Injectable } from '@nestjs/common';
import { FleetStore } from '@tollgate/keyspace';
import type { Caller } from '../../platform/access/caller.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { SnapshotPublisher } from '../snapshots/snapshot-publisher.ts';
import type { SyncResult } from './node-answers.ts';
import type { NodeScope } from './proxy-nodes.dto.ts';
import { ProxyNodesService } from './proxy-nodes.service.ts';

/** Applies an administrator's commands to nodes: to the whole fleet, or to the node in `node_id`. */
@Injectable()
export class ProxyService {
  constructor(
    private readonly transactions: Transactions,
    private readonly nodes: ProxyNodesService,
    private readonly publisher: SnapshotPublisher,
    private readonly fleet: FleetStore,
    private readonly activity: ActivityService,
  ) {}

  async setStopped(caller: Caller, isStopped: boolean, { node_id: nodeId }: NodeScope) {
    return { nodes: await this.nodes.setStopped(caller, isStopped, nodeId) };
  }

  /** Makes nodes load the current version again; nothing is compiled. */
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

  /** Publishes without waiting for nodes. */
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

  private record(caller: Caller, action: string, nodeId: number | undefined): Promise<void> {
    return this.transactions.run(async (tx) => {
      this.activity.record(tx, caller, {
        action,
        target: { kind: nodeId === undefined ? 'fleet' : 'node', id: nodeId ?? null },
      });
    });
  }
}
