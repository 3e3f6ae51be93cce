import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a model does when an upstream fails, where that is not the default. */
export class ModelFailover1795321446744 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE models ADD COLUMN failover jsonb NOT NULL DEFAULT '{}'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE models DROP COLUMN failover');
  }
}
