import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The table of model families that an administrator imported; without a row the shipped one is used. */
export class ModelFamilies1795332600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE model_families (
        id integer PRIMARY KEY CHECK (id = 1),
        document jsonb NOT NULL,
        imported_at timestamptz NOT NULL
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE model_families');
  }
}
