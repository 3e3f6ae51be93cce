import type { DataSource } from 'typeorm';
import { SUMMED_COLUMNS } from '../../platform/database/summed-columns.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import {
  USAGE_PERIOD_NAMES,
  USAGE_PERIODS,
  type UsagePeriod,
} from '../../platform/database/usage-periods.ts';

const BUCKETS = 24;
const PERIODS = USAGE_PERIOD_NAMES.map((name) => USAGE_PERIODS[name]);

/**
 * Recomputes the totals over all accounts from the roll-ups in one transaction. Booking waits meanwhile, and statistics show the old totals. Returns
 * the new number of rows.
 */
export function rebuildTotals(dataSource: DataSource): Promise<{ hours: number; days: number }> {
  return new Transactions(dataSource).run(async (tx) => {
    await tx.query(`
      SET LOCAL statement_timeout = 0;
      LOCK TABLE ${PERIODS.map(({ rollups }) => rollups).join(', ')} IN SHARE MODE;
      ${PERIODS.map((period) => `DELETE FROM ${period.totals};${fill(period)}`).join('\n')}`);
    const [rows] = await tx.query(
      'SELECT (SELECT count(*)::int FROM usage_totals) AS hours, (SELECT count(*)::int FROM usage_totals_daily) AS days',
    );
    return rows;
  });
}

/** Fills empty totals with the sums of the roll-ups over users and keys. */
function fill({ totals, rollups, column }: UsagePeriod): string {
  return `
  INSERT INTO ${totals} (${column}, model_id, upstream_id, ${SUMMED_COLUMNS.join(', ')}, duration_histogram, first_token_histogram)
  SELECT ${column}, model_id, upstream_id, ${SUMMED_COLUMNS.map((name) => `sum(${name})`).join(', ')}, ${summed('duration_histogram')}, ${summed('first_token_histogram')}
  FROM ${rollups} GROUP BY 1, 2, 3;`;
}

function summed(column: string): string {
  return `ARRAY[${Array.from({ length: BUCKETS }, (_, index) => `coalesce(sum(${column}[${index + 1}]), 0)::bigint`).join(', ')}]`;
}
