import type { DataSource } from 'typeorm';
import { fillUsageTotals, LOCK_ROLLUPS } from '../../platform/database/fill-usage-totals.ts';
import { SUMMED_COLUMNS } from '../../platform/database/summed-columns.ts';
import { Transactions } from '../../platform/database/transactions.ts';

/**
 * Recomputes the totals over all accounts from the roll-ups, in one transaction: usage waits to be booked meanwhile, statistics show the old totals.
 * Answers how many rows they have now.
 */
export function rebuildTotals(dataSource: DataSource): Promise<{ hours: number; days: number }> {
  return new Transactions(dataSource).run(async (tx) => {
    await tx.query(`
      SET LOCAL statement_timeout = 0;
      ${LOCK_ROLLUPS}
      DELETE FROM usage_totals;
      DELETE FROM usage_totals_daily;
      ${fillUsageTotals(SUMMED_COLUMNS)}`);
    const [rows] = await tx.query(
      'SELECT (SELECT count(*)::int FROM usage_totals) AS hours, (SELECT count(*)::int FROM usage_totals_daily) AS days',
    );
    return rows;
  });
}
