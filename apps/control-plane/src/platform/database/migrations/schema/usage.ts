/**
 * Makes columns of sums of usage, by period and keys. One row stands for hundreds of requests or for one, so its size counts: classes of tokens that were
 * not used are null, and histograms begin and end with their first and last bucket that counted something (their subscripts say which, bounds are in code).
 */
function sums(period: string, keys: readonly string[], count: 'integer' | 'bigint'): string {
  return `(
  ${period} NOT NULL,
  ${keys.map((key) => `${key} integer NOT NULL`).join(', ')},
  requests ${count} NOT NULL DEFAULT 0,
  errors ${count} NOT NULL DEFAULT 0,
  charge bigint NOT NULL DEFAULT 0,
  input_tokens bigint,
  cache_read_tokens bigint,
  cache_write_tokens bigint,
  output_tokens bigint,
  duration_histogram ${count}[] NOT NULL,
  first_token_histogram ${count}[] NOT NULL,
  cache_write_1h_tokens bigint,
  audio_input_tokens bigint,
  audio_output_tokens bigint,
  image_input_tokens bigint,
  image_output_tokens bigint,
  searches bigint,
  PRIMARY KEY (${[period.split(' ')[0], ...keys].join(', ')})
);`;
}

const byRequester = (period: string): string =>
  sums(period, ['user_id', 'key_id', 'model_id', 'upstream_id'], 'integer');
/** Counts of all accounts together may exceed an integer. */
const overAll = (period: string): string => sums(period, ['model_id', 'upstream_id'], 'bigint');

/** Makes usage of single requests and its sums. */
export const USAGE = `
-- day is the UTC day of the rid's UUIDv7 timestamp, so a retried event always meets the same partition and its key.
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
  -- Is the charge of the whole request; null where unknown (reap, withdraw).
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
  -- Is the place in its shard's outbox, for reconciliation.
  shard text,
  outbox_ms bigint,
  outbox_n bigint,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Holds the multipliers by which it was charged.
  premiums jsonb,
  cache_write_1h_tokens bigint,
  audio_input_tokens bigint,
  audio_output_tokens bigint,
  image_input_tokens bigint,
  image_output_tokens bigint,
  -- Holds the budgets in which it was admitted; null without any.
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

-- Holds sums of usage by minute, hour and day (UTC): they are kept in the same transaction as the debit, and equal the raw rows. upstream_id is 0 where no upstream was reached.
CREATE TABLE usage_rollups_minute ${byRequester('minute timestamptz')}
CREATE INDEX usage_rollups_minute_user ON usage_rollups_minute (user_id, minute);
CREATE TABLE usage_rollups ${byRequester('hour timestamptz')}
CREATE INDEX usage_rollups_user ON usage_rollups (user_id, hour);
CREATE TABLE usage_rollups_daily ${byRequester('day date')}
CREATE INDEX usage_rollups_daily_user ON usage_rollups_daily (user_id, day);

-- Holds the same over all accounts, so that what concerns no user and no key is answered at the same speed however many there are.
CREATE TABLE usage_totals_minute ${overAll('minute timestamptz')}
CREATE TABLE usage_totals ${overAll('hour timestamptz')}
CREATE TABLE usage_totals_daily ${overAll('day date')}

-- Says from when minutes and hours are kept; earlier ones were deleted.
CREATE TABLE usage_rollups_kept (
  period text PRIMARY KEY,
  since timestamptz NOT NULL
);
INSERT INTO usage_rollups_kept VALUES ('minute', '-infinity'), ('hour', '-infinity');

-- Holds sums of some weeks of whole days by user and by key, which are made again every few hours: they say who used the most of a month without a row for each user and day.
CREATE TABLE usage_recent (
  kind text NOT NULL CHECK (kind IN ('user', 'key')),
  id integer NOT NULL,
  tokens double precision NOT NULL,
  requests double precision NOT NULL,
  errors double precision NOT NULL,
  charge double precision NOT NULL,
  spend double precision NOT NULL
);
-- Holds the days that they sum, the last one not included.
CREATE TABLE usage_recent_span (
  id boolean PRIMARY KEY DEFAULT true CHECK (id),
  since date NOT NULL,
  until date NOT NULL,
  made_at timestamptz NOT NULL
);
INSERT INTO usage_recent_span (since, until, made_at) VALUES ('-infinity', '-infinity', '-infinity');

-- Says up to which day single requests were dropped: of an earlier one the books can no longer decide whether a final was charged.
CREATE TABLE usage_dropped_days (
  id boolean PRIMARY KEY DEFAULT true CHECK (id),
  -- Days before this one are gone.
  before date NOT NULL
);
INSERT INTO usage_dropped_days (before) VALUES ('-infinity');

-- Says which days of single requests were exported, and how many rows each had then: a retention that waits for the export goes by it.
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
