import { Injectable } from '@nestjs/common';
import { LostWithdrawals } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { toSafeInteger } from '../../platform/database/columns.ts';
import type { SubscriptionLiveRow } from './live-rows.sql.ts';
import { refuseFenced } from './shard-fenced.ts';

/** Far longer than Redis, or a replica that is promoted, is ever behind. */
const BOOKED_WITHIN = '1 day';
/** Redis remembers what a request released for 15 minutes; later, repeating could take it twice. It looks at its own clock too. */
const RELEASED_WITHIN = '14 minutes';
/** More than a person or a script closes of one subscription in a day. */
const ROWS_MAX = 1_000;

/**
 * Finds a withdrawal by its subscription's index; the partition of a withdrawal is the day it was asked for, however late it was booked. What was booked before the shard $3
 * was filled again is part of what it opened with: taken again, it would be taken twice. By PostgreSQL's clock on both sides.
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
  /** Null of a withdrawal that did not come from the outbox. */
  outbox_ms: z.union([z.string(), z.number()]).transform(toSafeInteger).nullable(),
});

/**
 * Withdrawals that are booked and refunded, for a Redis that may have lost the end of what it wrote: without them it would show refunded tokens
 * again. Like credits, a withdrawal that Redis knows changes nothing.
 */
@Injectable()
export class BookedWithdrawals {
  constructor(
    private readonly dataSource: DataSource,
    private readonly lost: LostWithdrawals,
  ) {}

  /** The subscription's record and credits have been written. While it is closing, its last withdrawal is not booked: that one is made afterwards. */
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

/** UTC day in a UUIDv7, as YYYY-MM-DD. */
function dayOf(id: string): string {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)).toISOString().slice(0, 10);
}
