import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a node proved itself with before its credential was changed, so that it may be restarted with the new one later. */
export class FormerNodeCredentials1795346000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE proxy_nodes
        ADD COLUMN former_credential_hashes text[] NOT NULL DEFAULT '{}',
        ADD COLUMN former_credentials_until timestamptz;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE proxy_nodes DROP COLUMN former_credential_hashes, DROP COLUMN former_credentials_until',
    );
  }
}
