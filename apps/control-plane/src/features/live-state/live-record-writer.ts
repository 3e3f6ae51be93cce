import { Injectable } from '@nestjs/common';
import {
  FleetStore,
  LiveRecords,
  MeteringStore,
  normaliseAllowlist,
  type PutReply,
  type SubscriptionRef,
} from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { noteAppliedCredits } from '../subscriptions/applied-credits.ts';
import { BookedWithdrawals } from './booked-withdrawals.ts';
import type { LiveRecord } from './live-target.ts';
import { ShardFenced } from './shard-fenced.ts';
import { LiveRows, type SubscriptionLiveRow } from './live-rows.ts';

export interface Withdrawn {
  userId: number;
  modelId: number;
  subscriptionId: number;
  withdrawalId: string;
  /** Charged tokens WITHDRAW took out of Redis; to be booked and refunded. */
  tokens: number;
}

export interface LiveListeners {
  /** Credits of this subscription have reached Redis. */
  credited?: (subscriptionId: number) => Promise<void>;
  /** Redis counts credits of this subscription that PostgreSQL has not given, or has a record of a later revision than its row. */
  ahead?: (subscription: SubscriptionRef & { id: number }) => void;
  /** Must be idempotent: repeated until it succeeds. */
  withdrawn?: (withdrawn: Withdrawn) => Promise<void>;
}

/** Brings one live record up to what PostgreSQL says now. Every method may be repeated and may run anywhere at the same time: revisions and sequences decide. */
@Injectable()
export class LiveRecordWriter {
  private readonly listeners: LiveListeners[] = [];

  constructor(
    private readonly rows: LiveRows,
    private readonly records: LiveRecords,
    private readonly metering: MeteringStore,
    private readonly dataSource: DataSource,
    private readonly withdrawals: BookedWithdrawals,
    private readonly fleet: FleetStore,
  ) {}

  listen(listeners: LiveListeners): void {
    this.listeners.push(listeners);
  }

  async write({ kind, id }: LiveRecord): Promise<void> {
    switch (kind) {
      case 'account':
        for (const row of await this.rows.accounts([id]))
          refuseFenced(await this.records.putAccount(row));
        return;
      case 'key':
        for (const { ipAllowlist, ...row } of await this.rows.keys([id])) {
          refuseFenced(
            await this.records.putKey({ ...row, allowlist: normaliseAllowlist(ipAllowlist) }),
          );
          // Nodes remember for a moment that a key was over its limit, which it may be no longer.
          await this.fleet.announce({ kind: 'key_changed', key_hash: row.keyHash });
        }
        return;
      case 'subscription':
        for (const row of await this.rows.subscriptions([id])) await this.writeSubscription(row);
        return;
      case 'withdrawal':
        for (const row of await this.rows.subscriptions([id])) {
          await this.writeSubscription(row);
          await this.withdrawals.repeat(row);
        }
    }
  }

  /** Rewrites a balance that was altered in Redis, as the ledger has it. Usage that Redis had debited and PostgreSQL has not booked is drift then. */
  async openAnew(subscriptionId: number): Promise<void> {
    for (const row of await this.rows.subscriptions([subscriptionId])) {
      await this.records.discardBalance({ accountId: row.userId, modelId: row.modelId });
      refuseFenced(
        await this.records.putSubscription({
          ...row,
          accountId: row.userId,
          withdrawalId: row.status === 'closing' ? null : row.withdrawalId,
          opening: { balance: row.balance - row.overdraft, creditSeq: row.creditSeq },
        }),
      );
    }
  }

  /** Record first, then the credits in their order, then the withdrawal: a credit that came after it would stay in a closed subscription. */
  private async writeSubscription(row: SubscriptionLiveRow): Promise<void> {
    // Taking the tokens writes the withdrawal's id, here or where it is repeated: a record that carried it already would look withdrawn.
    const put = await this.records.putSubscription({
      ...row,
      accountId: row.userId,
      withdrawalId: null,
    });
    refuseFenced(put);
    // Of a later write, or altered.
    if (put.kind === 'stale') this.noteAhead(row);
    const credited = await this.applyCredits(row);
    await this.fleet.announce({
      kind: 'subscription_changed',
      account_id: row.userId,
      model_id: row.modelId,
    });
    if (row.status === 'closing' && row.withdrawalId !== null)
      await this.withdraw({ ...row, withdrawalId: row.withdrawalId });
    if (credited) for (const { credited: tell } of this.listeners) await tell?.(row.id);
  }

  private async applyCredits(row: SubscriptionLiveRow): Promise<boolean> {
    let queue = await this.rows.pendingCredits(row.id);
    const applied: number[] = [];
    let isResent = false;
    for (let credit = queue.shift(); credit; credit = queue.shift()) {
      const reply = await this.metering.credit({
        accountId: row.userId,
        modelId: row.modelId,
        subscriptionId: row.id,
        seq: credit.seq,
        deltaTokens: credit.delta,
      });
      if (reply.kind === 'fenced')
        throw new ShardFenced(`shard of account ${row.userId} is fenced`);
      if (reply.kind === 'gap') {
        // Redis is behind what was marked as applied (it lost its last second): all it misses is sent again, once.
        if (isResent)
          throw new Error(`credits of subscription ${row.id} have a gap after ${reply.seq}`);
        isResent = true;
        queue = await this.rows.creditsAfter(row.id, reply.seq);
        continue;
      }
      if (reply.kind === 'duplicate' && reply.seq > row.creditSeq) this.noteAhead(row);
      applied.push(credit.seq);
    }
    if (applied.length > 0) await noteAppliedCredits(this.dataSource, row.id, applied);
    return applied.length > 0;
  }

  private noteAhead({ id, userId: accountId, modelId }: SubscriptionLiveRow): void {
    for (const { ahead } of this.listeners) ahead?.({ id, accountId, modelId });
  }

  private async withdraw(row: SubscriptionLiveRow & { withdrawalId: string }): Promise<void> {
    const { userId, modelId, id: subscriptionId, withdrawalId } = row;
    const reply = await this.metering.withdraw({
      accountId: userId,
      modelId,
      subscriptionId,
      withdrawalId,
      drain: row.drain,
    });
    if (reply.kind === 'fenced') throw new ShardFenced(`shard of account ${userId} is fenced`);
    if (reply.kind === 'not_found')
      throw new Error(`subscription ${subscriptionId} has no live record to withdraw from`);
    const tell = this.listeners.flatMap((listener) => listener.withdrawn ?? []);
    // The event is in the shard's outbox too; without a listener here it is booked when it is relayed.
    for (const one of tell)
      await one({ userId, modelId, subscriptionId, withdrawalId, tokens: reply.tokens });
  }
}

export function refuseFenced(reply: PutReply): void {
  if (reply.kind === 'fenced') throw new ShardFenced('the shard is fenced');
}
