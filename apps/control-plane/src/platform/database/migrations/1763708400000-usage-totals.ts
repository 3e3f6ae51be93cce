import type { MigrationInterface, QueryRunner } from 'typeorm';
import { FILL_USAGE_TOTALS, LOCK_ROLLUPS } from '../fill-usage-totals.ts';

/**
 * Sums over all accounts, so that what concerns no user and no key is answered at the same speed however many there are.
 * Kept like the roll-ups, in the transaction of each debit. The lock keeps usage from being booked between the filling and the commit.
 */
export class UsageTotals1763708400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      SET LOCAL statement_timeout = 0;
      ${LOCK_ROLLUPS}
      CREATE TABLE usage_totals (LIKE usage_rollups INCLUDING DEFAULTS);
      ALTER TABLE usage_totals DROP COLUMN user_id, DROP COLUMN key_id, ADD PRIMARY KEY (hour, model_id, upstream_id);
      CREATE TABLE usage_totals_daily (LIKE usage_rollups_daily INCLUDING DEFAULTS);
      ALTER TABLE usage_totals_daily DROP COLUMN user_id, DROP COLUMN key_id, ADD PRIMARY KEY (day, model_id, upstream_id);
      ${FILL_USAGE_TOTALS}
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE usage_totals, usage_totals_daily');
  }
}
