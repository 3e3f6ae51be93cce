import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Watch } from '../../../platform/background/watch.ts';
import { USAGE_PERIODS } from '../../../platform/database/usage-periods.ts';

const EVERY_MS = 600_000;
/** One statement deletes so many: it holds their locks, and a backlog of days must not. */
const BATCH = 10_000;
/** Each period goes by whole ones of the next, so that what stays of the finer can be compared with the longer. */
const WHOLE = { minute: USAGE_PERIODS.hour.lengthMs, hour: USAGE_PERIODS.day.lengthMs };

/** Deletes sums by minute and by hour that are older than they are kept. Sums by day stay. */
@Injectable()
export class RollupKeeper extends Watch {
  constructor(private readonly dataSource: DataSource) {
    super({
      name: 'usage-rollups',
      everyMs: EVERY_MS,
      failing: 'expired sums of usage cannot be deleted; trying again',
    });
  }

  async look(nowMs = Date.now()): Promise<void> {
    for (const period of ['minute', 'hour'] as const) {
      const { rollups, totals, keptMs, column } = USAGE_PERIODS[period];
      const since = new Date(Math.floor((nowMs - keptMs) / WHOLE[period]) * WHOLE[period]);
      // Committed first: no audit compares rows that are about to go.
      await this.dataSource.query(
        'UPDATE usage_rollups_kept SET since = greatest(since, $2) WHERE period = $1',
        [period, since],
      );
      for (const table of [rollups, totals]) await this.deleteBefore({ table, column, since });
    }
  }

  private async deleteBefore({
    table,
    column,
    since,
  }: {
    table: string;
    column: string;
    since: Date;
  }): Promise<void> {
    for (let deleted = BATCH; deleted === BATCH;) {
      const [row]: { count: number }[] = await this.dataSource.query(
        `WITH gone AS (DELETE FROM ${table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM ${table} WHERE ${column} < $1 LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)) RETURNING 1)
         SELECT count(*)::int AS count FROM gone`,
        [since],
      );
      deleted = row?.count ?? 0;
    }
  }
}
