import type { DataSource } from 'typeorm';
import { USAGE_PERIODS } from '../../platform/database/usage-periods.ts';

/** One statement deletes at most this many rows, because it holds their locks. */
const BATCH = 10_000;
/** Finer rows are deleted by whole periods of the next longer roll-up, so that the remaining ones can be compared with it. */
const WHOLE = { minute: USAGE_PERIODS.hour.lengthMs, hour: USAGE_PERIODS.day.lengthMs };

/** Deletes the sums of a period that are older than their retention. */
export async function deleteExpired(
  source: Pick<DataSource, 'query'>,
  period: 'minute' | 'hour',
  nowMs: number,
): Promise<void> {
  const { rollups, totals, keptMs } = USAGE_PERIODS[period];
  const since = new Date(Math.floor((nowMs - keptMs) / WHOLE[period]) * WHOLE[period]);
  // The new bound is committed first, so that no audit compares rows that are being deleted.
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
