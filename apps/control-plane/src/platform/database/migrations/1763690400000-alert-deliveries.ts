import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the webhook still has to be told; a row goes when it was told, or given up. */
export class AlertDeliveries1763690400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE alert_deliveries (
        alert_id bigint NOT NULL REFERENCES alerts (id),
        event text NOT NULL CHECK (event IN ('raised', 'resolved')),
        attempts integer NOT NULL DEFAULT 0,
        due_at timestamptz NOT NULL DEFAULT now(),
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (alert_id, event)
      );
      CREATE INDEX alert_deliveries_due ON alert_deliveries (due_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE alert_deliveries');
  }
}
