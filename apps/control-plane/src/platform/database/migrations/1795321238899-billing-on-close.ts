import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Whether an upstream stops billing a stream that is closed; null: what is known of its host. */
export class BillingOnClose1795321238899 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE upstreams ADD COLUMN stops_billing_on_close boolean');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE upstreams DROP COLUMN stops_billing_on_close');
  }
}
