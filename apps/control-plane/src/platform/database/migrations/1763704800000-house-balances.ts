import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A house account stands against all wallets together, for as long as the installation lives: bigint micro-units end at 9.2e12 units,
 * and from then on no payment, grant or refund was possible. Single amounts stay within bigint.
 */
export class HouseBalances1763704800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      SET LOCAL statement_timeout = 0;
      ALTER TABLE ledger_accounts ALTER COLUMN balance TYPE numeric(38, 0);
      ALTER TABLE ledger_entries ALTER COLUMN balance_after TYPE numeric(38, 0);
    `);
  }

  async down(): Promise<void> {
    throw new Error('balances that no bigint holds may exist');
  }
}
