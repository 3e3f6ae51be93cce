import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What one access token changed is read newest first. */
export class ActivityByToken1795352100000 implements MigrationInterface {
  /** Built beside the writers of a log of any size, which no transaction can. */
  transaction = false as const;

  async up(runner: QueryRunner): Promise<void> {
    // What an interrupted attempt has left is not valid.
    await runner.query('DROP INDEX IF EXISTS activity_log_token');
    await runner.query(
      'CREATE INDEX CONCURRENTLY activity_log_token ON activity_log (token_id, id) WHERE token_id IS NOT NULL',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX activity_log_token');
  }
}
