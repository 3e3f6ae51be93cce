import type { MigrationInterface, QueryRunner } from 'typeorm';

const BUCKETS = 24;
const SUMS = ['requests', 'errors', 'charge', 'input_tokens', 'cache_read_tokens', 'cache_write_tokens', 'output_tokens'];

/** The roll-ups without user and key, from the roll-ups with them. */
const fill = (target: string, source: string, period: string): string => `
  INSERT INTO ${target} (${period}, model_id, upstream_id, ${SUMS.join(', ')}, duration_histogram, first_token_histogram)
  SELECT ${period}, model_id, upstream_id, ${SUMS.map((name) => `sum(${name})`).join(', ')}, ${summed('duration_histogram')}, ${summed('first_token_histogram')}
  FROM ${source} GROUP BY 1, 2, 3;`;

function summed(column: string): string {
  return `ARRAY[${Array.from({ length: BUCKETS }, (_, index) => `coalesce(sum(${column}[${index + 1}]), 0)::bigint`).join(', ')}]`;
}

/**
 * Sums over all accounts, so that what concerns no user and no key is answered at the same speed however many there are.
 * Kept like the roll-ups, in the transaction of each debit. The lock keeps usage from being booked between the filling and the commit.
 */
export class UsageTotals1763708400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      SET LOCAL statement_timeout = 0;
      LOCK TABLE usage_rollups, usage_rollups_daily IN SHARE MODE;
      CREATE TABLE usage_totals (LIKE usage_rollups INCLUDING DEFAULTS);
      ALTER TABLE usage_totals DROP COLUMN user_id, DROP COLUMN key_id, ADD PRIMARY KEY (hour, model_id, upstream_id);
      CREATE TABLE usage_totals_daily (LIKE usage_rollups_daily INCLUDING DEFAULTS);
      ALTER TABLE usage_totals_daily DROP COLUMN user_id, DROP COLUMN key_id, ADD PRIMARY KEY (day, model_id, upstream_id);
      ${fill('usage_totals', 'usage_rollups', 'hour')}
      ${fill('usage_totals_daily', 'usage_rollups_daily', 'day')}
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE usage_totals, usage_totals_daily');
  }
}
