import { Injectable } from '@nestjs/common';
import { LostWithdrawals } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { toSafeInteger } from '../../platform/database/columns.ts';
import type { SubscriptionLiveRow } from './live-rows.sql.ts';
import { refuseFenced } from './shard-fenced.ts';

/** Is far longer than Redis, or a promoted replica, is ever behind. */
const BOOKED_WITHIN = '1 day';
/** Redis remembers the releases of a request for 15 minutes, by its own clock. A later repetition could take the tokens twice. */
const RELEASED_WITHIN = '14 minutes';
/** Is more than a person or a script closes of one subscription in a day. */
const ROWS_MAX = 1_000;

/**
 * Finds withdrawals by the subscription's index. The partition of a withdrawal is the day of its request, however late it was booked. Withdrawals
 * that were booked before the shard $3 was filled are part of its opening balances, and repeating them would take them twice. Both sides use
 * PostgreSQL's clock.
 */
const BOOKED = `
  SELECT rid, seq, delta, outbox_ms FROM usage_events
  WHERE subscription_id = $1 AND kind = 'withdraw' AND day >= least(current_date - 2, $2::date) AND created_at > now() - interval '${BOOKED_WITHIN}'
    AND created_at > coalesce((SELECT updated_at FROM shard_epochs WHERE shard = $3), '-infinity')
    AND (seq = 0 OR outbox_ms > extract(epoch FROM now() - interval '${RELEASED_WITHIN}') * 1000)
  ORDER BY created_at DESC LIMIT ${ROWS_MAX}`;
const bookedRow = z.object({
  rid: z.string(),
  seq: z.number(),
  delta: z.union([z.string(), z.number()]).transform(toSafeInteger),
  /** Is null for a withdrawal that did not come from the outbox. */
  outbox_ms: z.union([z.string(), z.number()]).transform(toSafeInteger).nullable(),
});

/**
 * Repeats booked and refunded withdrawals for a Redis that may have lost its latest writes; otherwise it would show refunded tokens again. A
 * withdrawal that Redis knows changes nothing.
 */
@Injectable()
export class BookedWithdrawals {
  constructor(
    private readonly dataSource: DataSource,
    private readonly lost: LostWithdrawals,
  ) {}

  /**
   * Call it after the subscription's record and credits are written. While the subscription is closing, its last withdrawal is not booked and follows
   * later.
   */
  async repeat(
    { id, userId, modelId, withdrawalId }: SubscriptionLiveRow,
    shard: string,
  ): Promise<void> {
    if (withdrawalId === null) return;
    const raw: unknown[] = await this.dataSource.query(BOOKED, [id, dayOf(withdrawalId), shard]);
    const booked = raw.map((row) => bookedRow.parse(row));
    const of = { accountId: userId, modelId, subscriptionId: id };
    const withdrawals = booked
      .filter(({ seq }) => seq === 0)
      .toSorted((a, b) => (a.rid < b.rid ? -1 : 1));
    for (const { rid, delta } of withdrawals)
      refuseFenced(await this.lost.repeatWithdrawal({ ...of, withdrawalId: rid, tokens: delta }));
    for (const { seq, rid, delta: tokens, outbox_ms: releasedAtMs } of booked) {
      if (seq !== 2 || releasedAtMs === null) continue;
      const reply = await this.lost.repeatRelease({
        ...of,
        rid,
        withdrawalId,
        tokens,
        releasedAtMs,
      });
      refuseFenced(reply);
    }
  }
}

/** Returns the UTC day of a UUIDv7 as YYYY-MM-DD. */
function dayOf(id: string): string {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)).toISOString().slice(0, 10);
}
