import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Multipliers of dearer services belong to a price version, and so are as immutable as it is; a request names those it was charged by. Models may have a default output limit. */
export class PremiumPrices1795323326427 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE price_versions ADD COLUMN multipliers jsonb NOT NULL DEFAULT '{}',
        ADD CONSTRAINT multipliers_is_object CHECK (jsonb_typeof(multipliers) = 'object');
      ALTER TABLE usage_events ADD COLUMN premiums jsonb;
      ALTER TABLE models ADD COLUMN default_output_tokens integer CHECK (default_output_tokens > 0);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE usage_events DROP COLUMN premiums;
      ALTER TABLE models DROP COLUMN default_output_tokens;
      ALTER TABLE price_versions DROP CONSTRAINT multipliers_is_object, DROP COLUMN multipliers;
    `);
  }
}
