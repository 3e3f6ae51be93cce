import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What an upstream has beside the endpoints that every server of its protocol has; null: what is known of its host. */
export class UpstreamEndpoints1795342800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      "ALTER TABLE upstreams ADD COLUMN endpoints text[] CHECK (endpoints <@ ARRAY['responses', 'completions'])",
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE upstreams DROP COLUMN endpoints');
  }
}
