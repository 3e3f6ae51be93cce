import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Live records say whether auto-recharge is armed, so that nodes wait for its purchases. Those of an earlier release are written again. */
export class ArmedRecharges1795332000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      INSERT INTO live_state_outbox (kind, target_id)
      SELECT 'subscription', id FROM subscriptions WHERE status = 'active' AND auto_recharge_amount > 0;
    `);
  }

  /** The fields in Redis disturb no earlier release. */
  async down(): Promise<void> {}
}
