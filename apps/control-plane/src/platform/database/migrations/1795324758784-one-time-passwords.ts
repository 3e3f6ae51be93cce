import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A password that an administrator hands out lets its owner set their own and nothing else. Accounts of the demo are marked as such. */
export class OneTimePasswords1795324758784 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE users
        -- Set: the password is a one-time one, and good until then.
        ADD COLUMN one_time_until timestamptz,
        ADD COLUMN is_demo boolean NOT NULL DEFAULT false;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE users DROP COLUMN one_time_until, DROP COLUMN is_demo');
  }
}
