import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Models that search or read by themselves: their usage may report more input than they were sent. */
export class ReadsMoreThanSent1795323618335 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE models ADD COLUMN reads_more_than_sent boolean NOT NULL DEFAULT false',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE models DROP COLUMN reads_more_than_sent');
  }
}
