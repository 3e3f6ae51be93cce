import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Whether requests may name files of the provider's account, which all customers share. */
export class UpstreamFileIds1795348000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE upstreams ADD COLUMN passes_file_ids boolean NOT NULL DEFAULT false',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE upstreams DROP COLUMN passes_file_ids');
  }
}
