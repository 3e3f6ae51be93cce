import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Why an automatic purchase waits for `auto_recharge_retry_at`: money in the wallet mends nothing but a want of money, which until now was taken for the reason of all. */
export class RefusedRecharges1763715600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE subscriptions ADD COLUMN auto_recharge_refusal text;
      UPDATE subscriptions SET auto_recharge_refusal = 'insufficient_funds' WHERE auto_recharge_retry_at IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE subscriptions DROP COLUMN auto_recharge_refusal');
  }
}
