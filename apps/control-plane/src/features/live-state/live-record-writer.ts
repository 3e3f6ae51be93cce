import { Injectable } from '@nestjs/common';
import {
  FleetStore,
  LiveCounts,
  LiveRecords,
  MeteringStore,
  normaliseAllowlist,
} from '@tollgate/keyspace';
import { DomainEvents } from '../../platform/domain-events/domain-events.ts';
import { BookedWithdrawals } from './booked-withdrawals.sql.ts';
import { CreditsApplied, RedisAhead, TokensWithdrawn } from './live-facts.ts';
import type { LiveRecord } from './live-target.ts';
import { refuseFenced } from './shard-fenced.ts';
import { asOpened, LiveRows, type SubscriptionLiveRow } from './live-rows.sql.ts';

/**
 * Writes one live record as PostgreSQL has it now. Every method may be repeated and may run at several replicas at once, because revisions and
 * sequences decide.
 */
@Injectable()
export class LiveRecordWriter {
  constructor(
    private readonly rows: LiveRows,
    private readonly records: LiveRecords,
    private readonly metering: MeteringStore,
    private readonly counts: LiveCounts,
    private readonly withdrawals: BookedWithdrawals,
    private readonly fleet: FleetStore,
    private readonly events: DomainEvents,
  ) {}

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
          // Nodes cache for a moment that a key was over its limit, which may no longer hold.
          await this.fleet.announce({ kind: 'key_changed', key_hash: row.keyHash });
        }
        return;
      case 'subscription':
        for (const row of await this.rows.subscriptions([id])) await this.writeSubscription(row);
        return;
      case 'withdrawal':
        for (const row of await this.rows.subscriptions([id])) {
          await this.writeSubscription(row);
          // Earlier withdrawals are repeated before the next one, which would otherwise take again the tokens that Redis has lost of them.
          await this.withdrawals.repeat(row, this.metering.shardOf(row.userId));
          await this.withdraw(row);
        }
    }
  }

  /**
   * Rewrites a balance that was altered in Redis with the ledger's balance. Usage that Redis had debited and PostgreSQL has not booked becomes drift.
   * The row may have changed since it was read, and Redis may have taken a withdrawal that is not booked: both follow at once, after the holds of
   * running requests are counted.
   */
  async openAnew(subscriptionId: number): Promise<void> {
    for (const row of await this.rows.subscriptions([subscriptionId])) {
      const { opening, ...record } = asOpened(row);
      const put = { ...record, opening: { ...opening, replaces: true } };
      refuseFenced(await this.records.putSubscription(put));
      await this.counts.recountHolds([{ accountId: row.userId, modelId: row.modelId }]);
      await this.write({ kind: 'withdrawal', id: subscriptionId });
    }
  }

  /** Writes the record first, then the credits in order; a withdrawal follows them. */
  private async writeSubscription(row: SubscriptionLiveRow): Promise<void> {
    // The withdrawal itself writes its id, here or where it is repeated: a record that already carried the id would look withdrawn.
    const put = await this.records.putSubscription({
      ...row,
      accountId: row.userId,
      withdrawalId: null,
    });
    refuseFenced(put);
    // The record comes from a later write, or was altered.
    if (put.kind === 'stale' || put.creditSeq > row.creditSeq) await this.noteAhead(row);
    const credited = await this.applyCredits(row, put.creditSeq);
    await this.fleet.announce({
      kind: 'subscription_changed',
      account_id: row.userId,
      model_id: row.modelId,
    });
    if (credited) await this.events.publish(new CreditsApplied(row.id));
  }

  /**
   * Sends the credits that Redis lacks, whether it never had them or has lost them. A credit that it loses meanwhile makes a gap, and a repetition
   * sends it.
   */
  private async applyCredits(row: SubscriptionLiveRow, afterSeq: number): Promise<boolean> {
    const credits = await this.rows.creditsAfter(row.id, afterSeq);
    for (const { seq, delta } of credits) {
      const reply = await this.metering.credit({
        accountId: row.userId,
        modelId: row.modelId,
        subscriptionId: row.id,
        seq,
        deltaTokens: delta,
      });
      refuseFenced(reply);
      if (reply.kind === 'gap')
        throw new Error(`credits of subscription ${row.id} have a gap after ${reply.seq}`);
    }
    return credits.length > 0;
  }

  private noteAhead({ id, userId: accountId, modelId }: SubscriptionLiveRow): Promise<void> {
    return this.events.publish(new RedisAhead({ id, accountId, modelId }));
  }

  private async withdraw(row: SubscriptionLiveRow): Promise<void> {
    const { userId, modelId, id: subscriptionId, withdrawalId, creditSeq } = row;
    if (row.status !== 'closing' || withdrawalId === null) return;
    const reply = await this.metering.withdraw({
      accountId: userId,
      modelId,
      subscriptionId,
      withdrawalId,
      drain: row.drain,
      creditSeq,
    });
    refuseFenced(reply);
    if (reply.kind === 'not_found' || reply.kind === 'behind')
      throw new Error(`subscription ${subscriptionId} is not whole in Redis: ${reply.kind}`);
    const withdrawn = { userId, modelId, subscriptionId, withdrawalId, tokens: reply.tokens };
    // The event is in the shard's outbox, too. Without a handler here it is booked when it is relayed.
    await this.events.publish(new TokensWithdrawn(withdrawn));
  }
}
