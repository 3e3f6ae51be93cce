/** Snapshots, nodes and what Redis is promised. */
export const FLEET = `
CREATE TABLE snapshots (
  version bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  checksum text NOT NULL,
  document jsonb NOT NULL,
  -- Is the version that this one restores, when it is a rollback.
  rollback_of bigint REFERENCES snapshots (version),
  created_by integer REFERENCES users (id),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE fleet_settings (
  id boolean PRIMARY KEY DEFAULT true CHECK (id),
  -- Changes are not published while it is set.
  pinned_version bigint REFERENCES snapshots (version),
  -- Counts changes that touch the routing document; the publisher compiles when it moved.
  change_seq bigint NOT NULL DEFAULT 0,
  published_seq bigint NOT NULL DEFAULT 0,
  -- A snapshot's seal says which installation published it, and how often the row of versions began anew.
  installation_id uuid NOT NULL DEFAULT gen_random_uuid(),
  lineage bigint NOT NULL DEFAULT 1 CHECK (lineage > 0),
  -- Lists the protocols that every node has reported to speak.
  spoken_protocols text[] NOT NULL DEFAULT '{}'
);
INSERT INTO fleet_settings DEFAULT VALUES;

CREATE TABLE proxy_nodes (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  url text,
  -- Is the SHA-256 (hex) of the node's own credential; null for a node that registered itself with the fleet credential.
  credential_hash text,
  is_self_registered boolean NOT NULL DEFAULT false,
  enabled boolean NOT NULL DEFAULT true,
  stopped boolean NOT NULL DEFAULT false,
  last_seen_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- A removed node stays as a tombstone: the fleet credential alone cannot bring it back.
  deleted_at timestamptz,
  -- Lists what its software can do: a thing that older nodes cannot read is used once all can.
  abilities text[] NOT NULL DEFAULT '{}',
  -- Holds the credentials by which it proved itself before they were changed, so that it may be restarted with the new one later.
  former_credential_hashes text[] NOT NULL DEFAULT '{}',
  former_credentials_until timestamptz
);
CREATE UNIQUE INDEX proxy_nodes_name ON proxy_nodes (name) WHERE deleted_at IS NULL;

-- Holds writes to Redis that a transaction promised; they are repeated until done, so a killed process loses none.
CREATE TABLE live_state_outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('account', 'key', 'subscription', 'withdrawal')),
  target_id integer NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- Has one row once the first shards were fenced: a missing epoch in Redis then means lost data, never a first start.
CREATE TABLE shard_epochs (
  shard text PRIMARY KEY,
  epoch text NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- Is the installation's SHARDS, from its first start on.
CREATE TABLE shard_counts (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  shards integer NOT NULL CHECK (shards > 0)
);
`;
