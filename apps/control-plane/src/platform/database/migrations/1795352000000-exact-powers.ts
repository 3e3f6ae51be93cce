import type { MigrationInterface, QueryRunner } from 'typeorm';
import { skeletonsOf } from '../skeletons.ts';

const BATCH = 1_000;

/** When the password of a session was given, which access token changed something, and which names look alike. */
export class ExactPowers1795352000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE sessions ADD COLUMN password_at timestamptz NOT NULL DEFAULT now();
      UPDATE sessions SET password_at = created_at;
      ALTER TABLE activity_log ADD COLUMN token_id integer;
      ALTER TABLE users ADD COLUMN skeletons text[] NOT NULL DEFAULT '{}';
    `);
    await fillSkeletons(runner);
    await runner.query(
      'CREATE INDEX users_skeletons ON users USING gin (skeletons) WHERE deleted_at IS NULL',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE users DROP COLUMN skeletons;
      ALTER TABLE activity_log DROP COLUMN token_id;
      ALTER TABLE sessions DROP COLUMN password_at;
    `);
  }
}

/** Names of before stay, also where two of them look alike: only a new one is refused. */
async function fillSkeletons(runner: QueryRunner): Promise<void> {
  for (let last = 0; ;) {
    const users: { id: number; username: string }[] = await runner.query(
      'SELECT id, username FROM users WHERE id > $1 AND deleted_at IS NULL ORDER BY id LIMIT $2',
      [last, BATCH],
    );
    if (users.length === 0) return;
    await runner.query(
      `UPDATE users u SET skeletons = ARRAY(SELECT jsonb_array_elements_text(f.skeletons))
       FROM jsonb_to_recordset($1::jsonb) AS f(id integer, skeletons jsonb) WHERE u.id = f.id`,
      [JSON.stringify(users.map(({ id, username }) => ({ id, skeletons: skeletonsOf(username) })))],
    );
    last = users.at(-1)?.id ?? last;
  }
}
