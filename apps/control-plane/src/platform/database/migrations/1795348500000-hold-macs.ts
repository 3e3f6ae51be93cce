import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Since when a node signs what its holds have used; null before its first report that says so. */
export class HoldMacs1795348500000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE proxy_nodes ADD COLUMN signs_holds_since timestamptz');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE proxy_nodes DROP COLUMN signs_holds_since');
  }
}
