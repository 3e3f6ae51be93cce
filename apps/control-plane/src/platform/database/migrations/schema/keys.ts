/** API keys and the limits of their requests. */
export const KEYS = `
CREATE TABLE api_keys (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id integer NOT NULL REFERENCES users (id),
  name text NOT NULL,
  key_hash text NOT NULL UNIQUE CHECK (key_hash ~ '^[0-9a-f]{64}$'),
  key_prefix text NOT NULL,
  allowed_models text NOT NULL DEFAULT '',
  rpm integer NOT NULL DEFAULT 0 CHECK (rpm >= 0),
  rph integer NOT NULL DEFAULT 0 CHECK (rph >= 0),
  rpd integer NOT NULL DEFAULT 0 CHECK (rpd >= 0),
  status text NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'disabled', 'deleted')),
  expires_at timestamptz,
  -- Comma-separated addresses and CIDR ranges as the caller wrote them; empty = any.
  ip_allowlist text NOT NULL DEFAULT '',
  drain boolean NOT NULL DEFAULT false,
  revision bigint NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz,
  -- Of the session that it serves in the playground, one a session.
  playground_sid uuid,
  -- The key that this one was rotated from.
  replaces_id integer REFERENCES api_keys (id)
);
CREATE INDEX api_keys_user ON api_keys (user_id);
CREATE UNIQUE INDEX api_keys_playground ON api_keys (playground_sid) WHERE playground_sid IS NOT NULL AND status <> 'deleted';

-- Ceilings of the request limits of keys; 0 = none. An account may have its own instead.
CREATE TABLE request_ceilings (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  rpm integer NOT NULL DEFAULT 0 CHECK (rpm >= 0),
  rph integer NOT NULL DEFAULT 0 CHECK (rph >= 0),
  rpd integer NOT NULL DEFAULT 0 CHECK (rpd >= 0),
  updated_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO request_ceilings DEFAULT VALUES;
CREATE FUNCTION limit_in_force(own integer, ceiling integer) RETURNS integer LANGUAGE sql IMMUTABLE AS
  'SELECT CASE WHEN ceiling = 0 THEN own WHEN own = 0 THEN ceiling ELSE least(own, ceiling) END';
CREATE VIEW key_limits AS
  SELECT k.id AS key_id, limit_in_force(k.rpm, coalesce(u.rpm_ceiling, c.rpm)) AS rpm,
    limit_in_force(k.rph, coalesce(u.rph_ceiling, c.rph)) AS rph, limit_in_force(k.rpd, coalesce(u.rpd_ceiling, c.rpd)) AS rpd
  FROM api_keys k JOIN users u ON u.id = k.user_id CROSS JOIN request_ceilings c;
`;
