import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Finds accounts by a part of their name without reading every account. Needs `pg_trgm`, which PostgreSQL brings along and the owner of a database
 * may create; where it cannot be created, a search reads every account as before.
 */
export class UsersSearch1795349000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DO $$
      BEGIN
        CREATE EXTENSION IF NOT EXISTS pg_trgm;
        CREATE INDEX users_search ON users USING gin (username gin_trgm_ops) WHERE deleted_at IS NULL;
      EXCEPTION
        WHEN insufficient_privilege OR undefined_file OR feature_not_supported OR undefined_object THEN
          RAISE NOTICE 'pg_trgm is not available: a search among accounts reads all of them';
      END $$
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX IF EXISTS users_search');
  }
}
