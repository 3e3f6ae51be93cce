/** Makes API keys and the limits of their requests. */
export const KEYS = `
CREATE TABLE api_keys (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id integer NOT NULL REFERENCES users (id),
  name text NOT NULL,
  key_hash text NOT NULL UNIQUE CHECK (key_hash ~ '^[0-9a-f]{64}$'),
  key_prefix text NOT NULL,
  allowed_models text NOT NULL DEFAULT '',
  limits jsonb NOT NULL DEFAULT '{}' CHECK (are_limits(limits)),
  -- Limits of tokens count what was read from a cache.
  counts_cache_reads boolean NOT NULL DEFAULT true,
  -- Holds limits for some models each: window, limit, models, counts_cache_reads.
  rates jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(rates) = 'array'),
  status text NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'disabled', 'deleted')),
  expires_at timestamptz,
  -- Holds comma-separated addresses and CIDR ranges as the caller wrote them; empty means any.
  ip_allowlist text NOT NULL DEFAULT '',
  drain boolean NOT NULL DEFAULT false,
  revision bigint NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz,
  -- Is the session that it serves in the playground, one a session.
  playground_sid uuid,
  -- Is the key that this one was rotated from.
  replaces_id integer REFERENCES api_keys (id),
  -- Is the key whose budgets this one counts against: the first of its rotations, or the key that a temporary one is like; null for its own.
  budgets_of_id integer REFERENCES api_keys (id)
);
CREATE INDEX api_keys_user ON api_keys (user_id);
CREATE UNIQUE INDEX api_keys_playground ON api_keys (playground_sid) WHERE playground_sid IS NOT NULL AND status <> 'deleted';

-- Holds ceilings of the limits of keys; 0 means none. An account may have its own instead.
CREATE TABLE ceilings (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  limits jsonb NOT NULL DEFAULT '{}' CHECK (are_limits(limits)),
  updated_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO ceilings DEFAULT VALUES;
-- Returns the limits of a key under its ceilings, the account's first. A limit that is 0 or absent is none.
CREATE FUNCTION limits_in_force(own jsonb, account jsonb, installation jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(jsonb_object_agg(name, least(nullif((own->>name)::bigint, 0), nullif(coalesce((account->>name), (installation->>name))::bigint, 0))), '{}')
  FROM (SELECT DISTINCT jsonb_object_keys(own || account || installation) AS name) AS names
  WHERE (own->>name)::bigint > 0 OR coalesce((account->>name), (installation->>name))::bigint > 0 $$;
CREATE VIEW key_limits AS
  SELECT k.id AS key_id, limits_in_force(k.limits, u.ceilings, c.limits) AS in_force
  FROM api_keys k JOIN users u ON u.id = k.user_id CROSS JOIN ceilings c;
`;
