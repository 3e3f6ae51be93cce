import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which fields of requests reach an upstream. Those that exist get all of them, as before. */
export class UpstreamFields1795353000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `ALTER TABLE upstreams ADD COLUMN fields text NOT NULL DEFAULT 'all'
         CONSTRAINT upstreams_fields CHECK (fields IN ('known', 'all'))`,
    );
    await runner.query(`ALTER TABLE upstreams ALTER COLUMN fields SET DEFAULT 'known'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE upstreams DROP COLUMN fields');
  }
}
