import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A session is a row, so that one can end alone; access tokens of scripts beside them. The trigger ends tokens however an account loses its rights:
 * also when the previous release, which knows no tokens, freezes or demotes it during a rolling upgrade.
 */
export class SessionsAndAccessTokens1795320000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE sessions (
        sid uuid PRIMARY KEY,
        user_id integer NOT NULL REFERENCES users (id),
        -- users.session_version when it began: a later one ends the session, whatever ended_at says.
        version integer NOT NULL,
        address text NOT NULL,
        user_agent text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        last_seen_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz NOT NULL,
        ended_at timestamptz
      );
      CREATE INDEX sessions_user ON sessions (user_id, created_at);
      CREATE INDEX sessions_expiry ON sessions (expires_at);

      CREATE TABLE access_tokens (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        user_id integer NOT NULL REFERENCES users (id),
        name text NOT NULL,
        token_hash text NOT NULL UNIQUE CHECK (token_hash ~ '^[0-9a-f]{64}$'),
        token_prefix text NOT NULL,
        scope text NOT NULL CHECK (scope IN ('read', 'write', 'admin')),
        expires_at timestamptz NOT NULL,
        last_used_at timestamptz,
        last_used_address text,
        created_at timestamptz NOT NULL DEFAULT now(),
        revoked_at timestamptz
      );
      CREATE INDEX access_tokens_user ON access_tokens (user_id);

      CREATE FUNCTION revoke_access_tokens() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        UPDATE access_tokens SET revoked_at = now() WHERE user_id = NEW.id AND revoked_at IS NULL;
        RETURN NULL;
      END $$;
      CREATE TRIGGER users_revoke_access_tokens AFTER UPDATE OF status, role ON users FOR EACH ROW
        WHEN (NEW.status <> 'active' OR (OLD.role = 'admin' AND NEW.role <> 'admin'))
        EXECUTE FUNCTION revoke_access_tokens();
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'DROP TRIGGER users_revoke_access_tokens ON users; DROP FUNCTION revoke_access_tokens(); DROP TABLE access_tokens; DROP TABLE sessions',
    );
  }
}
