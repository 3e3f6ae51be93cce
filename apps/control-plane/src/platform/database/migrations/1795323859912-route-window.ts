import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A route may take longer prompts than its model says: what overflows elsewhere goes there. */
export class RouteWindow1795323859912 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE routes ADD COLUMN context_window integer CHECK (context_window > 0)',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE routes DROP COLUMN context_window');
  }
}
