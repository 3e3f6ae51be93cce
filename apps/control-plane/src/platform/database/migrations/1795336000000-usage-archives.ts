import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which days of single requests were exported, and how many rows each had then: a retention that waits for the export goes by it. */
export class UsageArchives1795336000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE usage_archives (
        day date PRIMARY KEY,
        rows bigint NOT NULL,
        sha256 text NOT NULL,
        archived_at timestamptz NOT NULL DEFAULT now()
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE usage_archives');
  }
}
