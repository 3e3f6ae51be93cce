import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The installation's SHARDS, from its first start on; without a row until a control plane that knows of it starts. */
export class ShardCounts1795350000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE shard_counts (
        is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
        shards integer NOT NULL CHECK (shards > 0)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE shard_counts');
  }
}
