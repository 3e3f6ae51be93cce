import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The field of the output limit follows the model's name unless an administrator sets it. `max_tokens` was what routes had when it was left out. */
export class LimitField1795325322799 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE routes DROP CONSTRAINT routes_output_limit_field_check;
      ALTER TABLE routes ADD CONSTRAINT routes_output_limit_field_check CHECK (output_limit_field IN ('auto', 'max_tokens', 'max_completion_tokens'));
      ALTER TABLE routes ALTER COLUMN output_limit_field SET DEFAULT 'auto';
      UPDATE routes SET output_limit_field = 'auto' WHERE output_limit_field = 'max_tokens';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      UPDATE routes SET output_limit_field = 'max_tokens' WHERE output_limit_field = 'auto';
      ALTER TABLE routes ALTER COLUMN output_limit_field SET DEFAULT 'max_tokens';
      ALTER TABLE routes DROP CONSTRAINT routes_output_limit_field_check;
      ALTER TABLE routes ADD CONSTRAINT routes_output_limit_field_check CHECK (output_limit_field IN ('max_tokens', 'max_completion_tokens'));
    `);
  }
}
