import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The list of accounts begins with the newest, and those who wait for approval are asked for by themselves: neither sorts every account. */
export class UsersNewest1795347000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX users_newest ON users (created_at, id) WHERE deleted_at IS NULL;
      CREATE INDEX users_pending ON users (created_at, id) WHERE status = 'pending';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX users_newest; DROP INDEX users_pending;');
  }
}
