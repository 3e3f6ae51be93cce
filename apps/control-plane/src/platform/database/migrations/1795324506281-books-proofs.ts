import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When each equality of the books was last compared, and when it last held. */
export class BooksProofs1795324506281 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE books_proofs (
        name text PRIMARY KEY,
        checked_at timestamptz NOT NULL,
        proven_at timestamptz,
        problems integer NOT NULL,
        example jsonb,
        duration_ms integer NOT NULL
      );
      -- One audit at a time, whichever replica runs it.
      CREATE TABLE books_audit (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), running_since timestamptz);
      INSERT INTO books_audit DEFAULT VALUES;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE books_audit, books_proofs');
  }
}
