import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What a snapshot's seal says besides its version: which installation published it, and how often the row of versions began anew.
 * What the software of each node can do: a thing that older nodes cannot read is used once all can.
 */
export class RedisTrust1795320996197 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE fleet_settings
        ADD COLUMN installation_id uuid NOT NULL DEFAULT gen_random_uuid(),
        ADD COLUMN lineage bigint NOT NULL DEFAULT 1 CHECK (lineage > 0);
      ALTER TABLE proxy_nodes
        ADD COLUMN abilities text[] NOT NULL DEFAULT '{}',
        ADD COLUMN signs_finals_since timestamptz;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE proxy_nodes DROP COLUMN abilities, DROP COLUMN signs_finals_since;
      ALTER TABLE fleet_settings DROP COLUMN installation_id, DROP COLUMN lineage;
    `);
  }
}
