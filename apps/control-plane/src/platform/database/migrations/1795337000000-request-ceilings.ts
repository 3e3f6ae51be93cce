import type { MigrationInterface, QueryRunner } from 'typeorm';

const WINDOWS = ['rpm', 'rph', 'rpd'] as const;

/** Ceilings of the request limits of keys: of the installation, and of an account instead. 0 = none. */
export class RequestCeilings1795337000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const inForce = WINDOWS.map(
      (window) =>
        `limit_in_force(k.${window}, coalesce(u.${window}_ceiling, c.${window})) AS ${window}`,
    );
    await runner.query(`
      CREATE TABLE request_ceilings (
        one boolean PRIMARY KEY DEFAULT true CHECK (one),
        ${WINDOWS.map((window) => `${window} integer NOT NULL DEFAULT 0 CHECK (${window} >= 0)`).join(',\n        ')},
        updated_at timestamptz NOT NULL DEFAULT now()
      );
      INSERT INTO request_ceilings DEFAULT VALUES;
      ALTER TABLE users
        ${WINDOWS.map((window) => `ADD COLUMN ${window}_ceiling integer CHECK (${window}_ceiling >= 0)`).join(',\n        ')};
      CREATE FUNCTION limit_in_force(own integer, ceiling integer) RETURNS integer LANGUAGE sql IMMUTABLE AS
        'SELECT CASE WHEN ceiling = 0 THEN own WHEN own = 0 THEN ceiling ELSE least(own, ceiling) END';
      CREATE VIEW key_limits AS
        SELECT k.id AS key_id, ${inForce.join(', ')}
        FROM api_keys k JOIN users u ON u.id = k.user_id CROSS JOIN request_ceilings c;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP VIEW key_limits;
      DROP FUNCTION limit_in_force;
      ALTER TABLE users ${WINDOWS.map((window) => `DROP COLUMN ${window}_ceiling`).join(', ')};
      DROP TABLE request_ceilings;
    `);
  }
}
