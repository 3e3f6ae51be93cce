import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Credits that move Redis alone: `late_usage` is usage that PostgreSQL learned of first, beside `reconciliation`. */
export class LateUsage1763694000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE token_credits DROP CONSTRAINT token_credits_kind_check;
      ALTER TABLE token_credits ADD CONSTRAINT token_credits_kind_check
        CHECK (kind IN ('subscribe', 'renew', 'auto_recharge', 'grant', 'reconciliation', 'late_usage'));
    `);
  }

  async down(): Promise<void> {
    throw new Error('credits of the new kind may exist');
  }
}
