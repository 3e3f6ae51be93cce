import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Failures are few and are looked for among millions; only they pay for the index when they are booked. */
export class FailedRequests1763712000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      SET LOCAL statement_timeout = 0;
      CREATE INDEX usage_events_failed ON usage_events (status, day, rid) WHERE status >= 400;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX usage_events_failed');
  }
}
