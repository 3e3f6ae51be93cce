import type { EntityManager } from 'typeorm';
import { RATED_TOKENS } from '../../platform/database/summed-columns.ts';
import type { Transactions } from '../../platform/database/transactions.ts';
import { USAGE_PERIODS } from '../../platform/database/usage-periods.ts';
import { joinPrices, pricesOf, valueOf } from './spend.sql.ts';

const { day } = USAGE_PERIODS;
/** Sums so many days: with the days around them they make the thirty of a question, before and after midnight. Usage that is booked late is nearly all of yesterday. */
const DAYS = 27;
const YOUNGEST_DAYS = 1;
/** Usage that was booked late for an older day counts after this time. */
const MADE_EVERY = '6 hours';

/** Holds the measures of a row `u` of the roll-ups, joined with its price. Sums of them are exact up to 2^53. */
export const MEASURE_OF = {
  tokens: `(${RATED_TOKENS})::float8`,
  requests: 'u.requests::float8',
  errors: 'u.errors::float8',
  charge: 'u.charge::float8',
  spend: valueOf('prices.price'),
} as const;

const NAMES = Object.keys(MEASURE_OF).join(', ');
const SUMS = Object.values(MEASURE_OF)
  .map((each) => `coalesce(sum(${each}), 0)`)
  .join(', ');
const UNTIL = `(now() AT TIME ZONE 'UTC')::date - ${YOUNGEST_DAYS}`;
const KINDS = { user: 'user_id', key: 'key_id' } as const;

/** Selects the days that `usage_recent` sums, as rows of `since` and `until`. */
export const RECENT_SPAN =
  'SELECT since::text AS since, until::text AS until FROM usage_recent_span';

/** Recomputes the sums when they are old or cover other days. One control plane does so at a time; the others do not wait. */
export function makeRecentSums(transactions: Transactions): Promise<void> {
  return transactions.run(async (tx) => {
    await tx.query('SET LOCAL statement_timeout = 0');
    const due: unknown[] = await tx.query(
      `SELECT 1 FROM usage_recent_span WHERE until <> ${UNTIL} OR made_at < now() - interval '${MADE_EVERY}' FOR UPDATE SKIP LOCKED`,
    );
    if (due.length > 0) await makeAnew(tx);
  });
}

async function makeAnew(tx: EntityManager): Promise<void> {
  const within = `u.day >= ${UNTIL} - ${DAYS} AND u.day < ${UNTIL}`;
  const [prices]: { at: string[]; models: number[]; prices: number[] }[] = await tx.query(
    pricesOf(day, within),
  );
  await tx.query('DELETE FROM usage_recent');
  for (const [kind, id] of Object.entries(KINDS))
    await tx.query(
      `INSERT INTO usage_recent (kind, id, ${NAMES})
       SELECT '${kind}', u.${id}, ${SUMS} FROM ${day.rollups} u ${joinPrices(day, ['$1', '$2', '$3'])} WHERE ${within} GROUP BY u.${id}`,
      [prices?.at, prices?.models, prices?.prices],
    );
  await tx.query(
    `UPDATE usage_recent_span SET since = ${UNTIL} - ${DAYS}, until = ${UNTIL}, made_at = now()`,
  );
}
