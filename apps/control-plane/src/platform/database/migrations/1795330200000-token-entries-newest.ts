import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The token ledger of one subscription is read newest first, page by page. */
export class TokenEntriesNewest1795330200000 implements MigrationInterface {
  /** Built beside the writers of a ledger of any size, which no transaction can. */
  transaction = false as const;

  async up(runner: QueryRunner): Promise<void> {
    // What an interrupted attempt has left is not valid.
    await runner.query('DROP INDEX IF EXISTS token_entries_newest');
    await runner.query(
      'CREATE INDEX CONCURRENTLY token_entries_newest ON token_entries (subscription_id, id DESC)',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX token_entries_newest');
  }
}
