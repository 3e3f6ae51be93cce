import type { MigrationInterface, QueryRunner } from 'typeorm';

const KINDS =
  "'recharge', 'admin_recharge', 'subscribe', 'renew', 'auto_recharge', 'refund', 'forfeit', 'adjustment'";

/** Money that left a wallet to its owner outside Tollgate. */
export class WalletPayouts1795325457961 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Older rows fit, because the former constraint was narrower: they are not read under a lock that keeps writers out.
    await runner.query(`
      ALTER TABLE ledger_transactions DROP CONSTRAINT ledger_transactions_kind_check;
      ALTER TABLE ledger_transactions ADD CONSTRAINT ledger_transactions_kind_check CHECK (kind IN (${KINDS}, 'payout')) NOT VALID;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE ledger_transactions DROP CONSTRAINT ledger_transactions_kind_check;
      ALTER TABLE ledger_transactions ADD CONSTRAINT ledger_transactions_kind_check CHECK (kind IN (${KINDS}));
    `);
  }
}
