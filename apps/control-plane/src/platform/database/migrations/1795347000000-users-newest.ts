import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The list of accounts goes by age or by name, and those who wait for approval are asked for by themselves: none of it sorts every account. */
export class UsersNewest1795347000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX users_newest ON users (created_at, id) WHERE deleted_at IS NULL;
      CREATE INDEX users_name ON users (username, id) WHERE deleted_at IS NULL;
      CREATE INDEX users_pending ON users (created_at, id) WHERE status = 'pending';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX users_newest, users_name, users_pending');
  }
}
