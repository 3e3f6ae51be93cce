/** Usage of single requests and its sums. */
export const USAGE = `
-- day = UTC day of the rid's UUIDv7 timestamp, so a retried event always meets the same partition and its key.
CREATE TABLE usage_events (
  day date NOT NULL,
  rid uuid NOT NULL,
  seq smallint NOT NULL,
  kind text NOT NULL CHECK (kind IN ('usage', 'reap', 'withdraw')),
  user_id integer NOT NULL,
  subscription_id integer NOT NULL,
  model_id integer NOT NULL,
  key_id integer,
  price_version_id integer,
  delta bigint NOT NULL,
  -- Of the whole request; null where unknown (reap, withdraw).
  charge bigint,
  basis text CHECK (basis IN ('reported', 'estimated')),
  node text,
  protocol text,
  is_stream boolean,
  upstream_id integer,
  attempts jsonb,
  outcome text,
  status integer,
  input_tokens bigint,
  cache_read_tokens bigint,
  cache_write_tokens bigint,
  output_tokens bigint,
  reasoning_tokens bigint,
  started_at timestamptz NOT NULL,
  first_token_ms integer,
  duration_ms integer,
  -- Place in its shard's outbox, for reconciliation.
  shard text,
  outbox_ms bigint,
  outbox_n bigint,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Multipliers by which it was charged.
  premiums jsonb,
  cache_write_1h_tokens bigint,
  audio_input_tokens bigint,
  audio_output_tokens bigint,
  -- The budgets in which it was admitted; null without any.
  budgets text,
  searches bigint,
  PRIMARY KEY (day, rid, seq)
) PARTITION BY RANGE (day);
CREATE TABLE usage_events_default PARTITION OF usage_events DEFAULT;
CREATE INDEX usage_events_user ON usage_events (user_id, started_at DESC, rid);
CREATE INDEX usage_events_subscription ON usage_events (subscription_id, day);
-- Failures are few and are looked for among millions; only they pay for the index when they are booked.
CREATE INDEX usage_events_failed ON usage_events (status, day, rid) WHERE status >= 400;
-- The index names blocks and not rows: a query for a rare value reads few blocks, and booking pays next to nothing.
CREATE INDEX usage_events_values ON usage_events USING brin (model_id int4_bloom_ops (n_distinct_per_range = 100), upstream_id int4_bloom_ops (n_distinct_per_range = 50),
  split_part(node, ':', 1) text_bloom_ops (n_distinct_per_range = 50), outcome text_bloom_ops (n_distinct_per_range = 16)) WITH (pages_per_range = 64, autosummarize = on);

-- Kept in the same transaction as the debit, equal to the raw rows.
CREATE TABLE usage_rollups (
  hour timestamptz NOT NULL,
  user_id integer NOT NULL,
  key_id integer NOT NULL,
  model_id integer NOT NULL,
  -- 0 when no upstream was reached.
  upstream_id integer NOT NULL,
  requests bigint NOT NULL DEFAULT 0,
  errors bigint NOT NULL DEFAULT 0,
  charge bigint NOT NULL DEFAULT 0,
  input_tokens bigint NOT NULL DEFAULT 0,
  cache_read_tokens bigint NOT NULL DEFAULT 0,
  cache_write_tokens bigint NOT NULL DEFAULT 0,
  output_tokens bigint NOT NULL DEFAULT 0,
  -- Counts by latency bucket (bounds in code), so percentiles add up over any grouping.
  duration_histogram bigint[] NOT NULL,
  first_token_histogram bigint[] NOT NULL,
  cache_write_1h_tokens bigint NOT NULL DEFAULT 0,
  audio_input_tokens bigint NOT NULL DEFAULT 0,
  audio_output_tokens bigint NOT NULL DEFAULT 0,
  searches bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (hour, user_id, key_id, model_id, upstream_id)
);
CREATE INDEX usage_rollups_user ON usage_rollups (user_id, hour);

-- The same by UTC day, kept beside it, so that months over many accounts are read in milliseconds.
CREATE TABLE usage_rollups_daily (LIKE usage_rollups);
ALTER TABLE usage_rollups_daily RENAME COLUMN hour TO day;
ALTER TABLE usage_rollups_daily ALTER COLUMN day TYPE date USING day::date, ADD PRIMARY KEY (day, user_id, key_id, model_id, upstream_id),
  ALTER COLUMN cache_write_1h_tokens SET DEFAULT 0, ALTER COLUMN audio_input_tokens SET DEFAULT 0, ALTER COLUMN audio_output_tokens SET DEFAULT 0, ALTER COLUMN searches SET DEFAULT 0;
CREATE INDEX usage_rollups_daily_user ON usage_rollups_daily (user_id, day);

-- Sums over all accounts, so that what concerns no user and no key is answered at the same speed however many there are.
CREATE TABLE usage_totals (LIKE usage_rollups INCLUDING DEFAULTS);
ALTER TABLE usage_totals DROP COLUMN user_id, DROP COLUMN key_id, ADD PRIMARY KEY (hour, model_id, upstream_id);
CREATE TABLE usage_totals_daily (LIKE usage_rollups_daily INCLUDING DEFAULTS);
ALTER TABLE usage_totals_daily DROP COLUMN user_id, DROP COLUMN key_id, ADD PRIMARY KEY (day, model_id, upstream_id);

-- Up to which day single requests were dropped: of an earlier one the books can no longer tell whether a final was charged.
CREATE TABLE usage_dropped_days (
  id boolean PRIMARY KEY DEFAULT true CHECK (id),
  -- Days before this one are gone.
  before date NOT NULL
);
INSERT INTO usage_dropped_days (before) VALUES ('-infinity');

-- Which days of single requests were exported, and how many rows each had then: a retention that waits for the export goes by it.
CREATE TABLE usage_archives (
  day date PRIMARY KEY,
  rows bigint NOT NULL,
  sha256 text NOT NULL,
  archived_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE usage_dead_letters (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  rid text NOT NULL,
  seq text NOT NULL,
  delta text NOT NULL,
  payload text NOT NULL,
  reason text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  resolved_at timestamptz,
  resolution text CHECK (resolution IN ('booked', 'duplicate', 'dismissed')),
  resolved_by integer,
  note text,
  UNIQUE (rid, seq)
);
CREATE INDEX usage_dead_letters_open ON usage_dead_letters (id) WHERE resolved_at IS NULL;
`;
