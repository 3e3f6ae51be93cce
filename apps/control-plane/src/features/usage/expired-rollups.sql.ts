import type { DataSource } from 'typeorm';
import { USAGE_PERIODS } from '../../platform/database/usage-periods.ts';

/** One statement deletes so many: it holds their locks, and a backlog of days must not. */
const BATCH = 10_000;
/** Each period goes by whole ones of the next, so that what stays of the finer can be compared with the longer. */
const WHOLE = { minute: USAGE_PERIODS.hour.lengthMs, hour: USAGE_PERIODS.day.lengthMs };

/** Deletes the sums of a period that are older than they are kept. */
export async function deleteExpired(
  source: Pick<DataSource, 'query'>,
  period: 'minute' | 'hour',
  nowMs: number,
): Promise<void> {
  const { rollups, totals, keptMs } = USAGE_PERIODS[period];
  const since = new Date(Math.floor((nowMs - keptMs) / WHOLE[period]) * WHOLE[period]);
  // Committed first: no audit compares rows that are about to go.
  await source.query(
    'UPDATE usage_rollups_kept SET since = greatest(since, $2) WHERE period = $1',
    [period, since],
  );
  for (const table of [rollups, totals])
    for (let deleted = BATCH; deleted === BATCH;) {
      const [row]: { count: number }[] = await source.query(
        `WITH gone AS (DELETE FROM ${table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM ${table} WHERE ${period} < $1 LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)) RETURNING 1)
         SELECT count(*)::int AS count FROM gone`,
        [since],
      );
      deleted = row?.count ?? 0;
    }
}
