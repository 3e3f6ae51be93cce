import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * When a subscription's live record last changed: `updated_at` moves with every charge and cannot tell. And keys of accounts that were deleted
 * before deletion took the keys along (their requests were refused already).
 */
export class LiveRevisions1763701200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE subscriptions ADD COLUMN revised_at timestamptz NOT NULL DEFAULT '-infinity';
      ALTER TABLE subscriptions ALTER COLUMN revised_at SET DEFAULT now();
      CREATE FUNCTION note_revision() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.revised_at := now();
        RETURN NEW;
      END $$;
      CREATE TRIGGER subscriptions_revised BEFORE UPDATE OF revision ON subscriptions FOR EACH ROW EXECUTE FUNCTION note_revision();
      WITH gone AS (
        UPDATE api_keys k SET status = 'deleted', deleted_at = now(), updated_at = now(), revision = k.revision + 1
        FROM users u WHERE u.id = k.user_id AND u.status = 'deleted' AND k.status <> 'deleted' RETURNING k.id
      )
      INSERT INTO live_state_outbox (kind, target_id) SELECT 'key', id FROM gone;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'DROP TRIGGER subscriptions_revised ON subscriptions; DROP FUNCTION note_revision(); ALTER TABLE subscriptions DROP COLUMN revised_at',
    );
  }
}
