import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Up to which day single requests were dropped: of an earlier one the books can no longer tell whether a final was charged. Of days dropped by
 * earlier releases the oldest partition tells.
 */
export class DroppedDays1795323074722 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE usage_dropped_days (
        id boolean PRIMARY KEY DEFAULT true CHECK (id),
        -- Days before this one are gone.
        before date NOT NULL
      );
      INSERT INTO usage_dropped_days (before)
      SELECT coalesce(min(to_date(substring(c.relname FROM '^usage_events_([0-9]{8})$'), 'YYYYMMDD')), '-infinity')
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = 'usage_events'::regclass AND c.relname ~ '^usage_events_[0-9]{8}$' AND EXISTS (SELECT FROM usage_events);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE usage_dropped_days');
  }
}
