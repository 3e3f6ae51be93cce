import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { promisedRow } from './live-target.ts';

/** A withdrawal is followed by what running requests release, for as long as they run. */
const RELEASES_FOLLOW = '1 day';
/** The newest of PostgreSQL's rows that live in Redis too. */
const NEWEST = `
  SELECT greatest(
    (SELECT max(revised_at) FROM subscriptions), (SELECT max(updated_at) FROM users),
    (SELECT max(updated_at) FROM api_keys), (SELECT max(updated_at) FROM ceilings), (SELECT max(updated_at) FROM budgets)) AS at`;
/** Finds the rows that live in Redis too and may have been in what it lost. $1: seconds; $2: counted from then, null for now. Withdrawals first: until then refunded tokens look spendable. */
const RECENT = `
  WITH since AS MATERIALIZED (SELECT least(now(), $2::timestamptz) - make_interval(secs => $1) AS at)
  INSERT INTO live_state_outbox (kind, target_id)
  SELECT kind, id FROM (
    SELECT 1 AS turn, 'withdrawal' AS kind, id FROM subscriptions, since WHERE withdrawal_id IS NOT NULL AND revised_at > since.at - interval '${RELEASES_FOLLOW}'
    UNION SELECT 2, 'subscription', subscription_id FROM token_credits, since WHERE created_at > since.at
    UNION SELECT 2, 'subscription', id FROM subscriptions, since WHERE revised_at > since.at
    UNION SELECT 3, 'account', id FROM users, since WHERE updated_at > since.at
    UNION SELECT 3, 'account', user_id FROM budgets, since WHERE key_id IS NULL AND updated_at > since.at
    UNION SELECT 4, 'key', k.id FROM since, budgets b JOIN api_keys k ON b.key_id IN (k.id, k.budgets_of_id) WHERE b.updated_at > since.at
    UNION SELECT 4, 'key', k.id FROM since, ceilings c, api_keys k JOIN users u ON u.id = k.user_id WHERE greatest(k.updated_at, u.updated_at, c.updated_at) > since.at) recent
  ORDER BY turn, id
  RETURNING id, kind, target_id`;
const newestRow = z.object({ at: z.date().nullable() });

export interface Lost {
  readonly seconds: number;
  /** Null: now. */
  readonly from: Date | null;
}

/** Null when nothing is there. */
export async function newestChange(tx: EntityManager): Promise<Date | null> {
  const rows: unknown[] = await tx.query(NEWEST);
  return newestRow.parse(rows[0]).at;
}

/** Promises again each write that may have been in what Redis lost. */
export async function promiseRecent(
  tx: EntityManager,
  { seconds, from }: Lost,
): Promise<z.output<typeof promisedRow>[]> {
  const rows: unknown[] = await tx.query(RECENT, [seconds, from]);
  return rows.map((row) => promisedRow.parse(row));
}
