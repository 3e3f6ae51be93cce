import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { hashCredential, type NodeState } from '@tollgate/contracts';
import { FleetStore } from '@tollgate/keyspace';
import { In, IsNull, Repository, type EntityManager } from 'typeorm';
import type { Caller } from '../../platform/access/caller.ts';
import { refuseTwins } from '../../platform/http/refuse-twins.ts';
import { afterCommit, Transactions } from '../../platform/database/transactions.ts';
import { refuseStale } from '../../platform/http/entity-tag.ts';
import { readPage, type Page } from '../../platform/http/list-query.ts';
import { refusedField } from '../../platform/http/field-faults.ts';
import { noSuch, Refusal } from '../../platform/http/refusal.ts';
import { Idempotency } from '../../platform/idempotency/idempotency.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { FleetSync } from './fleet-sync.ts';
import type { CreatedNode, NodeResponse, SyncResult } from './node-answers.ts';
import { NodeRegistry } from './node-registry.ts';
import { wantedState } from './node-wishes.ts';
import { toNodeRecord, toNodeResponse } from './node-response.ts';
import { ProxyNode } from './proxy-node.entity.ts';
import type { CreateNode, NodeList, ToggleNode, UpdateNode } from './proxy-nodes.dto.ts';

@Injectable()
export class ProxyNodesService {
  constructor(
    @InjectRepository(ProxyNode) private readonly nodes: Repository<ProxyNode>,
    private readonly transactions: Transactions,
    private readonly registry: NodeRegistry,
    private readonly fleet: FleetStore,
    private readonly fleetSync: FleetSync,
    private readonly alerts: AlertsService,
    private readonly activity: ActivityService,
    private readonly idempotency: Idempotency,
  ) {}

  list(query: NodeList): Promise<Page<NodeResponse>> {
    const builder = this.nodes.createQueryBuilder('node').where('node.deletedAt IS NULL');
    if (query.enabled !== undefined)
      builder.andWhere('node.enabled = :enabled', { enabled: query.enabled });
    return readPage(builder, query, {
      columns: {
        id: 'node.id',
        name: 'node.name',
        last_seen_at: 'node.lastSeenAt',
        created_at: 'node.createdAt',
      },
      search: ['node.name', 'node.url'],
      map: (row) => toNodeResponse(row, this.registry.watch),
    });
  }

  async get(id: number): Promise<NodeResponse> {
    return toNodeResponse(await this.find(id), this.registry.watch);
  }

  /** Returns those of these nodes that are not deleted. */
  findMany(ids: readonly number[]): Promise<ProxyNode[]> {
    return this.nodes.findBy({ id: In([...ids]), deletedAt: IsNull() });
  }

  /** Creates a node. The credential is returned once and stored only as a hash. */
  create(caller: Caller, body: CreateNode, key: string | undefined): Promise<CreatedNode> {
    const credential = `tg-node-${randomBytes(32).toString('base64url')}`;
    const request = {
      userId: caller.userId,
      route: 'POST /proxy-nodes',
      key,
      body,
      status: 201,
      secrets: ['credential'],
    };
    const result = this.idempotency.run(request, async (tx) => {
      const repository = tx.getRepository(ProxyNode);
      const inserted = await repository.insert({
        name: body.name,
        url: body.url ?? null,
        credentialHash: hashCredential(credential),
      });
      const created = await repository.findOneByOrFail({
        id: Number(inserted.identifiers[0]?.['id']),
      });
      this.activity.record(tx, caller, {
        action: 'node.create',
        target: { kind: 'node', id: created.id },
        after: toNodeRecord(created),
      });
      return { ...toNodeResponse(created, this.registry.watch), credential };
    });
    return refuseTwins(result, TAKEN);
  }

  async update(caller: Caller, id: number, body: UpdateNode): Promise<NodeResponse> {
    return this.change(caller, id, 'node.update', (row) => ({
      ...row,
      ...(body.name !== undefined && { name: body.name }),
      ...(body.url !== undefined && { url: body.url }),
    }));
  }

  toggle(caller: Caller, id: number, body: ToggleNode): Promise<NodeResponse> {
    return this.change(caller, id, 'node.toggle', (row) => ({
      ...row,
      enabled: body?.enabled ?? !row.enabled,
    }));
  }

  /** Deletes a node and leaves a tombstone: the fleet credential alone cannot restore the name. */
  async delete(caller: Caller, id: number): Promise<void> {
    await this.transactions.run(async (tx) => {
      const row = await this.lock(tx, id);
      // The hash stays, because events that the node signed are still on their way (`FinalProofs`).
      await tx.getRepository(ProxyNode).update({ id }, { deletedAt: new Date() });
      await this.alerts.resolve(tx, { rule: 'node_offline', subject: `node:${id}` });
      for (const rule of ['node_refuses_snapshot', 'node_misconfigured'] as const)
        await this.alerts.resolve(tx, { rule, subject: `node:${id}` });
      this.activity.record(tx, caller, {
        action: 'node.delete',
        target: { kind: 'node', id },
        before: toNodeRecord(row),
      });
      afterCommit(tx, () => this.fleet.setDesired(row.name, { state: 'unknown' }));
    });
  }

  /** Implements `proxy/start` and `proxy/stop`. The state survives restarts of nodes and of this process. */
  async setStopped(caller: Caller, isStopped: boolean, nodeId?: number): Promise<NodeResponse[]> {
    const rows = await this.transactions.run(async (tx) => {
      const repository = tx.getRepository(ProxyNode);
      const targets = await repository.find({
        where: { deletedAt: IsNull(), ...(nodeId !== undefined && { id: nodeId }) },
        order: { id: 'ASC' },
        lock: { mode: 'pessimistic_write' },
      });
      if (nodeId !== undefined && targets.length === 0) throw noSuch('node', nodeId, 'node_id');
      const changed = targets.filter((row) => row.stopped !== isStopped);
      for (const row of changed)
        await this.store(tx, caller, isStopped ? 'node.stop' : 'node.start', row, {
          ...row,
          stopped: isStopped,
        });
      return targets.map((row) => ({ ...row, stopped: isStopped }));
    });
    return rows.map((row) => toNodeResponse(row, this.registry.watch));
  }

  sync(nodeId?: number): Promise<SyncResult> {
    return this.fleetSync.sync((node) => nodeId === undefined || node.id === nodeId);
  }

  /** Returns one state for each node, for counting. */
  async states(): Promise<NodeState[]> {
    const rows = await this.nodes.find({ where: { deletedAt: IsNull() } });
    return rows.map((row) => this.registry.watch.stateOf(row));
  }

  /** Returns the nodes' rows. Throws `not_found` when `node_id` names no existing node. */
  async scope(nodeId?: number): Promise<ProxyNode[]> {
    if (nodeId !== undefined) return [await this.find(nodeId, 'node_id')];
    return this.nodes.find({ where: { deletedAt: IsNull() }, order: { id: 'ASC' } });
  }

  private change(
    caller: Caller,
    id: number,
    action: string,
    next: (row: ProxyNode) => ProxyNode,
  ): Promise<NodeResponse> {
    const result = this.transactions.run(async (tx) => {
      const row = await this.lock(tx, id);
      refuseStale(caller, row);
      return toNodeResponse(
        await this.store(tx, caller, action, row, next(row)),
        this.registry.watch,
      );
    });
    return refuseTwins(result, TAKEN);
  }

  /** Saves the row, records the activity, and notifies the node at once; the registry repeats the write until Redis has it. */
  private async store(
    tx: EntityManager,
    caller: Caller,
    action: string,
    before: ProxyNode,
    next: ProxyNode,
  ): Promise<ProxyNode> {
    const after = await tx.getRepository(ProxyNode).save({ ...next });
    this.activity.record(tx, caller, {
      action,
      target: { kind: 'node', id: after.id },
      before: toNodeRecord(before),
      after: toNodeRecord(after),
    });
    afterCommit(tx, () => this.fleet.setDesired(after.name, { state: wantedState(after) }));
    if (before.name !== after.name)
      afterCommit(tx, () => this.fleet.setDesired(before.name, { state: 'unknown' }));
    return after;
  }

  private async find(id: number, field?: string): Promise<ProxyNode> {
    const row = await this.nodes.findOneBy({ id, deletedAt: IsNull() });
    if (!row) throw noSuch('node', id, field);
    return row;
  }

  private async lock(tx: EntityManager, id: number): Promise<ProxyNode> {
    const row = await tx
      .getRepository(ProxyNode)
      .findOne({ where: { id, deletedAt: IsNull() }, lock: { mode: 'pessimistic_write' } });
    if (!row) throw noSuch('node', id);
    return row;
  }
}

const TAKEN = {
  proxy_nodes_name: () =>
    new Refusal('node_name_taken', { errors: [refusedField('name', 'is taken')] }),
};
