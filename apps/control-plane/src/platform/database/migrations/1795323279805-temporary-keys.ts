import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Keys of the playground belong to a session and are one a session; a rotated key knows which one it replaces. */
export class TemporaryKeys1795323279805 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE api_keys ADD COLUMN playground_sid uuid, ADD COLUMN replaces_id integer REFERENCES api_keys (id);
      CREATE UNIQUE INDEX api_keys_playground ON api_keys (playground_sid) WHERE playground_sid IS NOT NULL AND status <> 'deleted';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE api_keys DROP COLUMN replaces_id, DROP COLUMN playground_sid');
  }
}
