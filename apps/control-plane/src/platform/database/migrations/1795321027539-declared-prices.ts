import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A price of zero is declared. Versions from before are not: until now every model began with one, and which were meant cannot be told.
 * Models on the shelf stay there, their users keep working, and an alert names them until they are priced, declared free or taken off.
 * The default takes models off the shelf that a control plane of the previous release adds during the upgrade.
 */
export class DeclaredPrices1795321027539 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE price_versions ADD COLUMN is_free boolean NOT NULL DEFAULT false,
        ADD CONSTRAINT free_charges_nothing CHECK (NOT is_free OR price_per_million = 0 OR weight_input + weight_output = 0);
      ALTER TABLE models ALTER COLUMN is_on_shelf SET DEFAULT false;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE models ALTER COLUMN is_on_shelf SET DEFAULT true;
      ALTER TABLE price_versions DROP CONSTRAINT free_charges_nothing, DROP COLUMN is_free;
    `);
  }
}
