import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Upstreams that need more than a key, and the protocols that every node has reported to speak. */
export class Providers1764000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `ALTER TABLE fleet_settings ADD COLUMN spoken_protocols text[] NOT NULL DEFAULT '{}'`,
    );
    await runner.query(
      `ALTER TABLE upstreams DROP CONSTRAINT upstreams_protocol_check, ADD CONSTRAINT upstreams_protocol_check
         CHECK (protocol IN ('openai', 'anthropic', 'azure', 'gemini', 'vertex', 'bedrock'))`,
    );
    await runner.query(
      `ALTER TABLE upstreams ADD COLUMN auth_type text NOT NULL DEFAULT 'api_key'`,
    );
  }

  /** Fails while there are upstreams that the earlier release does not know. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      `ALTER TABLE upstreams DROP CONSTRAINT upstreams_protocol_check, ADD CONSTRAINT upstreams_protocol_check
         CHECK (protocol IN ('openai', 'anthropic'))`,
    );
    await runner.query('ALTER TABLE upstreams DROP COLUMN auth_type');
    await runner.query('ALTER TABLE fleet_settings DROP COLUMN spoken_protocols');
  }
}
