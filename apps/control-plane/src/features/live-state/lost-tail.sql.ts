import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { promisedRow } from './live-target.ts';

/** Running requests may still release tokens after a withdrawal for this long. */
const RELEASES_FOLLOW = '1 day';
/** Selects the newest of PostgreSQL's rows that are in Redis, too. */
const NEWEST = `
  SELECT greatest(
    (SELECT max(revised_at) FROM subscriptions), (SELECT max(updated_at) FROM users),
    (SELECT max(updated_at) FROM api_keys), (SELECT max(updated_at) FROM ceilings), (SELECT max(updated_at) FROM budgets)) AS at`;
/**
 * Finds the rows that are in Redis, too, and may be among its lost writes. $1 is the number of seconds; $2 is the time from which they count back,
 * null for now. Withdrawals come first, because until then refunded tokens look spendable.
 */
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
  /** Is the time from which `seconds` are counted back; null means now. */
  readonly from: Date | null;
}

/** Returns null when there are no rows. */
export async function newestChange(tx: EntityManager): Promise<Date | null> {
  const rows: unknown[] = await tx.query(NEWEST);
  return newestRow.parse(rows[0]).at;
}

/** Promises again each write that Redis may have lost. */
export async function promiseRecent(
  tx: EntityManager,
  { seconds, from }: Lost,
): Promise<z.output<typeof promisedRow>[]> {
  const rows: unknown[] = await tx.query(RECENT, [seconds, from]);
  return rows.map((row) => promisedRow.parse(row));
}
