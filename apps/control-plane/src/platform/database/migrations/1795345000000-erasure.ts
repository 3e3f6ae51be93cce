import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Append-only stays append-only, but for one change: an erasure, which says so in its transaction, empties what names a person. Amounts, ids,
 * times and hashes cannot be changed by it.
 */
export class Erasure1795345000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE named text[] := CASE TG_TABLE_NAME
        WHEN 'activity_log' THEN ARRAY['actor_name', 'address', 'before', 'after']
        WHEN 'ledger_transactions' THEN ARRAY['note'] END;
      BEGIN
        IF TG_OP = 'UPDATE' AND named IS NOT NULL AND current_setting('tollgate.erasing', true) = 'on'
          AND to_jsonb(NEW) - named = to_jsonb(OLD) - named
          AND NOT EXISTS (SELECT 1 FROM jsonb_each(to_jsonb(NEW)) WHERE key = ANY (named) AND value <> 'null')
        THEN RETURN NEW; END IF;
        RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
      END $$;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation'; END $$;
    `);
  }
}
