import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The token ledger of one subscription is read newest first, page by page. */
export class TokenEntriesNewest1795330200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'CREATE INDEX token_entries_newest ON token_entries (subscription_id, id DESC)',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX token_entries_newest');
  }
}
