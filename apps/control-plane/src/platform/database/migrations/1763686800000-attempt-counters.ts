import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Throttles of sign-in and registration. Unlogged: after a crash counting starts again, which costs an attacker's wait and no data. */
export class AttemptCounters1763686800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE UNLOGGED TABLE attempt_counters (subject text PRIMARY KEY, attempts integer NOT NULL, resets_at timestamptz NOT NULL);
      CREATE INDEX attempt_counters_age ON attempt_counters (resets_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE attempt_counters');
  }
}
