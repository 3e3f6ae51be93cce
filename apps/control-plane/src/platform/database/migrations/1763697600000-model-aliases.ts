import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Further names of a model. A name or alias belongs to one living model; the lock makes that true for two changes at once, too. */
export class ModelAliases1763697600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE models ADD COLUMN aliases text[] NOT NULL DEFAULT '{}';
      CREATE FUNCTION refuse_taken_model_alias() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.deleted_at IS NOT NULL THEN
          RETURN NEW;
        END IF;
        PERFORM pg_advisory_xact_lock(hashtext('model names'));
        IF NEW.name = ANY (NEW.aliases) OR EXISTS (
          SELECT FROM models other
          WHERE other.id <> NEW.id AND other.deleted_at IS NULL
            AND (other.name = ANY (NEW.aliases) OR NEW.name = ANY (other.aliases) OR other.aliases && NEW.aliases)
        ) THEN
          RAISE unique_violation USING MESSAGE = 'another model has this name or alias', CONSTRAINT = 'models_alias';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER models_alias BEFORE INSERT OR UPDATE OF name, aliases, deleted_at ON models FOR EACH ROW EXECUTE FUNCTION refuse_taken_model_alias();
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'DROP TRIGGER models_alias ON models; DROP FUNCTION refuse_taken_model_alias(); ALTER TABLE models DROP COLUMN aliases',
    );
  }
}
