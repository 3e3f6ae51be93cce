import type { MigrationInterface, QueryRunner } from 'typeorm';

const CASELESS = `lower(other.name) = ANY (names) OR EXISTS (SELECT FROM unnest(other.aliases) alias WHERE lower(alias) = ANY (names))`;
const EXACT = `other.name = ANY (NEW.aliases) OR NEW.name = ANY (other.aliases) OR other.aliases && NEW.aliases`;

/**
 * Names of two models differ by more than case, and a model has one route to the same model of an upstream. Triggers, not indexes:
 * an installation that has twins keeps them until they are changed. The locks make both true for two changes at once, too.
 */
export class Twins1795331309000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(refuseTakenNames(CASELESS));
    await runner.query(`
      CREATE FUNCTION refuse_twin_route() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM pg_advisory_xact_lock(hashtext('routes of a model'), NEW.model_id);
        IF EXISTS (
          SELECT FROM routes other
          WHERE other.id <> NEW.id AND other.model_id = NEW.model_id AND other.upstream_id = NEW.upstream_id
            AND other.upstream_model = NEW.upstream_model
        ) THEN
          RAISE unique_violation USING MESSAGE = 'the model has this route', CONSTRAINT = 'routes_twin';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER routes_twin BEFORE INSERT OR UPDATE OF model_id, upstream_id, upstream_model ON routes FOR EACH ROW EXECUTE FUNCTION refuse_twin_route();
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TRIGGER routes_twin ON routes; DROP FUNCTION refuse_twin_route()');
    await runner.query(refuseTakenNames(EXACT));
  }
}

function refuseTakenNames(isTaken: string): string {
  return `
    CREATE OR REPLACE FUNCTION refuse_taken_model_alias() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      names text[];
    BEGIN
      IF NEW.deleted_at IS NOT NULL THEN
        RETURN NEW;
      END IF;
      PERFORM pg_advisory_xact_lock(hashtext('model names'));
      SELECT array_agg(lower(given)) INTO names FROM unnest(NEW.name || NEW.aliases) given;
      IF NEW.name = ANY (NEW.aliases) OR EXISTS (
        SELECT FROM models other WHERE other.id <> NEW.id AND other.deleted_at IS NULL AND (${isTaken})
      ) THEN
        RAISE unique_violation USING MESSAGE = 'another model has this name or alias', CONSTRAINT = 'models_alias';
      END IF;
      RETURN NEW;
    END $$`;
}
