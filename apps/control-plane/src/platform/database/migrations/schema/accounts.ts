/** Makes accounts, their sessions and access tokens. */
export const ACCOUNTS = `
-- Holds limits by name, as LIMIT_NAMES of libs/contracts has them: whole numbers below 2^53.
CREATE FUNCTION are_limits(limits jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_typeof(limits) = 'object' AND NOT jsonb_path_exists(limits,
    '$.* ? (@.type() != "number" || @ < 0 || @ > 9007199254740991 || @.floor() != @)') $$;

CREATE TABLE users (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  username text NOT NULL,
  password_hash text NOT NULL,
  role text NOT NULL DEFAULT 'user' CHECK (role IN ('admin', 'user')),
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'active', 'rejected', 'frozen', 'deleted')),
  session_version integer NOT NULL DEFAULT 1,
  -- Rises with every change that the live record in Redis must follow; an older write never replaces a newer one.
  revision bigint NOT NULL DEFAULT 1,
  -- Running streams of a frozen or deleted account may finish when true.
  drain boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz,
  -- Is set while the password is a one-time one, which is valid until then.
  one_time_until timestamptz,
  is_demo boolean NOT NULL DEFAULT false,
  -- Replaces the installation's ceilings of the limits of its keys, by the limit's name; 0 means none.
  ceilings jsonb NOT NULL DEFAULT '{}' CHECK (are_limits(ceilings)),
  -- Holds limits over all its keys: window, limit, models, counts_cache_reads.
  rates jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(rates) = 'array'),
  -- Is shared with names that look alike (skeletons.ts).
  skeletons text[] NOT NULL DEFAULT '{}',
  CHECK ((status = 'deleted') = (deleted_at IS NOT NULL))
);
-- Names are free again after deletion.
CREATE UNIQUE INDEX users_username ON users (lower(username)) WHERE deleted_at IS NULL;

-- Accounts are listed by age or by name, and those who wait for approval are asked for alone: no list sorts every account.
CREATE INDEX users_newest ON users (created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX users_name ON users (username, id) WHERE deleted_at IS NULL;
CREATE INDEX users_pending ON users (created_at, id) WHERE status = 'pending';
CREATE INDEX users_skeletons ON users USING gin (skeletons) WHERE deleted_at IS NULL;
-- Finds accounts by a part of their name. PostgreSQL ships pg_trgm, and the owner of a database may create it; without it a search reads every account.
DO $$
BEGIN
  CREATE EXTENSION IF NOT EXISTS pg_trgm;
  CREATE INDEX users_search ON users USING gin (username gin_trgm_ops) WHERE deleted_at IS NULL;
EXCEPTION
  WHEN insufficient_privilege OR undefined_file OR feature_not_supported OR undefined_object THEN
    RAISE NOTICE 'pg_trgm is not available: a search among accounts reads all of them';
END $$;

-- A session is a row, so that one can end alone.
CREATE TABLE sessions (
  sid uuid PRIMARY KEY,
  user_id integer NOT NULL REFERENCES users (id),
  -- Is users.session_version when it began: a later one ends the session, whatever ended_at says.
  version integer NOT NULL,
  address text NOT NULL,
  user_agent text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_seen_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  ended_at timestamptz,
  -- Is the time at which the password was given last.
  password_at timestamptz NOT NULL DEFAULT now()
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

-- Tokens end however an account loses its rights.
CREATE FUNCTION revoke_access_tokens() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE access_tokens SET revoked_at = now() WHERE user_id = NEW.id AND revoked_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER users_revoke_access_tokens AFTER UPDATE OF status, role ON users FOR EACH ROW
  WHEN (NEW.status <> 'active' OR (OLD.role = 'admin' AND NEW.role <> 'admin'))
  EXECUTE FUNCTION revoke_access_tokens();

-- Holds throttles of sign-in and registration. The table is unlogged: after a crash counting starts again, which costs an attacker's wait and no data.
CREATE UNLOGGED TABLE attempt_counters (subject text PRIMARY KEY, attempts integer NOT NULL, resets_at timestamptz NOT NULL);
CREATE INDEX attempt_counters_age ON attempt_counters (resets_at);
`;
