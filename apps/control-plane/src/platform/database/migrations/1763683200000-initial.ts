import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The whole first schema. Money is bigint micro-units, tokens are bigint charged tokens, times are timestamptz.
 * What must never be wrong is a constraint here, not only a rule in a service.
 */
const SCHEMA = `
-- Accounts -----------------------------------------------------------------------------------------------------------
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
  CHECK ((status = 'deleted') = (deleted_at IS NOT NULL))
);
-- Names are free again after deletion.
CREATE UNIQUE INDEX users_username ON users (lower(username)) WHERE deleted_at IS NULL;

-- Money: double-entry, append-only -----------------------------------------------------------------------------------
CREATE TABLE ledger_accounts (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('wallet', 'payments', 'revenue', 'grants', 'overdraft')),
  user_id integer REFERENCES users (id),
  balance bigint NOT NULL DEFAULT 0,
  CHECK ((kind = 'wallet') = (user_id IS NOT NULL)),
  CONSTRAINT wallet_not_negative CHECK (kind <> 'wallet' OR balance >= 0)
);
CREATE UNIQUE INDEX ledger_accounts_wallet ON ledger_accounts (user_id) WHERE kind = 'wallet';
CREATE UNIQUE INDEX ledger_accounts_house ON ledger_accounts (kind) WHERE kind <> 'wallet';
INSERT INTO ledger_accounts (kind) VALUES ('payments'), ('revenue'), ('grants'), ('overdraft');

CREATE TABLE ledger_transactions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('recharge', 'admin_recharge', 'subscribe', 'renew', 'auto_recharge', 'refund', 'forfeit', 'adjustment')),
  -- What caused it, e.g. 'credit:17:3' or 'withdrawal:<uuid>:0'; unique per kind, so a retry posts once.
  reference text NOT NULL,
  actor_user_id integer REFERENCES users (id),
  note text,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (kind, reference)
);
CREATE TABLE ledger_entries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  transaction_id bigint NOT NULL REFERENCES ledger_transactions (id),
  ledger_account_id integer NOT NULL REFERENCES ledger_accounts (id),
  amount bigint NOT NULL CHECK (amount <> 0),
  balance_after bigint NOT NULL
);
CREATE INDEX ledger_entries_account ON ledger_entries (ledger_account_id, id DESC);
CREATE INDEX ledger_entries_transaction ON ledger_entries (transaction_id);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation'; END $$;
CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE ON ledger_entries FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_entries_no_truncate BEFORE TRUNCATE ON ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_transactions_append_only BEFORE UPDATE OR DELETE ON ledger_transactions FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_transactions_no_truncate BEFORE TRUNCATE ON ledger_transactions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE FUNCTION ledger_transaction_is_balanced() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT coalesce(sum(amount), 0) FROM ledger_entries WHERE transaction_id = NEW.transaction_id) <> 0 THEN
    RAISE EXCEPTION 'ledger transaction % does not sum to zero', NEW.transaction_id USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER ledger_entries_balanced AFTER INSERT ON ledger_entries DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION ledger_transaction_is_balanced();

-- A retried POST that moves money answers what the first one answered.
CREATE TABLE idempotency_keys (
  user_id integer NOT NULL REFERENCES users (id),
  route text NOT NULL,
  key text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
  request_hash text NOT NULL,
  response_status integer NOT NULL,
  response_body jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, route, key)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- Catalogue ----------------------------------------------------------------------------------------------------------
CREATE TABLE models (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 256),
  display_name text NOT NULL,
  kind text NOT NULL DEFAULT 'chat' CHECK (kind IN ('chat', 'embedding')),
  owned_by text NOT NULL DEFAULT 'tollgate',
  description text NOT NULL DEFAULT '',
  context_window integer CHECK (context_window > 0),
  max_output_tokens integer CHECK (max_output_tokens > 0),
  unbounded_input_tokens integer CHECK (unbounded_input_tokens >= 0),
  is_on_shelf boolean NOT NULL DEFAULT true,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz
);
CREATE UNIQUE INDEX models_name ON models (name) WHERE deleted_at IS NULL;

-- Immutable: a new price is a new version.
CREATE TABLE price_versions (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  model_id integer NOT NULL REFERENCES models (id),
  price_per_million bigint NOT NULL CHECK (price_per_million >= 0),
  weight_input bigint NOT NULL DEFAULT 1000000 CHECK (weight_input >= 0),
  weight_output bigint NOT NULL DEFAULT 1000000 CHECK (weight_output >= 0),
  weight_cache_read bigint NOT NULL DEFAULT 1000000 CHECK (weight_cache_read >= 0),
  weight_cache_write bigint NOT NULL DEFAULT 1000000 CHECK (weight_cache_write >= 0),
  effective_at timestamptz NOT NULL DEFAULT now(),
  created_by integer REFERENCES users (id),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX price_versions_model ON price_versions (model_id, effective_at DESC, id DESC);
CREATE TRIGGER price_versions_immutable BEFORE UPDATE OR DELETE ON price_versions FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Subscriptions and tokens ---------------------------------------------------------------------------------------------
-- One row per (user, model) for ever: subscribing again reopens it, so late settlements always find their subscription.
CREATE TABLE subscriptions (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id integer NOT NULL REFERENCES users (id),
  model_id integer NOT NULL REFERENCES models (id),
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'closing', 'closed')),
  balance bigint NOT NULL DEFAULT 0 CONSTRAINT subscription_not_negative CHECK (balance >= 0),
  -- sum(token_overdrafts): usage no balance covered; below zero while a correction has overtaken the charge it corrects.
  -- balance - overdraft is what Redis holds once all credits are applied and all events are in.
  overdraft bigint NOT NULL DEFAULT 0,
  -- Last sequence number given to a credit; Redis applies only cseq + 1.
  credit_seq bigint NOT NULL DEFAULT 0,
  -- Rises each time the subscription is opened; a hold of an older generation releases into the withdrawal.
  generation integer NOT NULL DEFAULT 1,
  withdrawal_id uuid,
  auto_recharge_threshold bigint CHECK (auto_recharge_threshold >= 0),
  auto_recharge_amount bigint CHECK (auto_recharge_amount >= 0),
  auto_recharge_retry_at timestamptz,
  auto_recharge_failures integer NOT NULL DEFAULT 0,
  drain boolean NOT NULL DEFAULT false,
  revision bigint NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  closed_at timestamptz,
  UNIQUE (user_id, model_id),
  CHECK ((auto_recharge_threshold IS NULL) = (auto_recharge_amount IS NULL))
);
CREATE INDEX subscriptions_model ON subscriptions (model_id);
CREATE INDEX subscriptions_auto_recharge ON subscriptions (id) WHERE auto_recharge_amount > 0 AND status = 'active';

-- Tokens are consumed oldest lot first; a refund is the unused share of what the lot cost, rounded down.
CREATE TABLE token_lots (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  subscription_id integer NOT NULL REFERENCES subscriptions (id),
  credit_seq bigint NOT NULL,
  tokens bigint NOT NULL CHECK (tokens > 0),
  remaining bigint NOT NULL,
  -- Tokens that left by withdrawal; tokens - remaining - withdrawn is what usage consumed.
  withdrawn bigint NOT NULL DEFAULT 0 CHECK (withdrawn >= 0),
  cost bigint NOT NULL CHECK (cost >= 0),
  -- What has been paid back of cost so far.
  refunded bigint NOT NULL DEFAULT 0 CHECK (refunded >= 0 AND refunded <= cost),
  created_at timestamptz NOT NULL DEFAULT now(),
  CHECK (remaining >= 0 AND remaining + withdrawn <= tokens),
  UNIQUE (subscription_id, credit_seq)
);
CREATE INDEX token_lots_open ON token_lots (subscription_id, id) WHERE remaining > 0;

-- Credits on their way to Redis, by contiguous sequence (docs/design/metering.md#functions).
CREATE TABLE token_credits (
  subscription_id integer NOT NULL REFERENCES subscriptions (id),
  seq bigint NOT NULL,
  -- Negative only for a reconciliation repair.
  delta bigint NOT NULL,
  kind text NOT NULL CHECK (kind IN ('subscribe', 'renew', 'auto_recharge', 'grant', 'reconciliation')),
  created_at timestamptz NOT NULL DEFAULT now(),
  applied_at timestamptz,
  PRIMARY KEY (subscription_id, seq)
);
CREATE INDEX token_credits_pending ON token_credits (subscription_id, seq) WHERE applied_at IS NULL;

-- Append-only token ledger: subscriptions.balance = sum(delta).
CREATE TABLE token_entries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  subscription_id integer NOT NULL REFERENCES subscriptions (id),
  kind text NOT NULL CHECK (kind IN ('credit', 'usage', 'withdrawal', 'reconciliation')),
  -- 'credit:<seq>', 'usage:<batch uuid>', 'withdrawal:<rid>:<seq>'.
  reference text NOT NULL,
  delta bigint NOT NULL CHECK (delta <> 0),
  balance_after bigint NOT NULL CHECK (balance_after >= 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (subscription_id, kind, reference)
);
CREATE TRIGGER token_entries_append_only BEFORE UPDATE OR DELETE ON token_entries FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER token_entries_no_truncate BEFORE TRUNCATE ON token_entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Charged usage that no balance covered (a late correction, an upstream beyond its bound).
CREATE TABLE token_overdrafts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  subscription_id integer NOT NULL REFERENCES subscriptions (id),
  reference text NOT NULL,
  tokens bigint NOT NULL CHECK (tokens <> 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (subscription_id, reference)
);

-- API keys -------------------------------------------------------------------------------------------------------------
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
  deleted_at timestamptz
);
CREATE INDEX api_keys_user ON api_keys (user_id);

-- Routing --------------------------------------------------------------------------------------------------------------
CREATE TABLE upstreams (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  protocol text NOT NULL CHECK (protocol IN ('openai', 'anthropic')),
  base_url text NOT NULL,
  -- AES-256-GCM envelope bound to this id; never readable through the API.
  sealed_api_key text,
  headers jsonb NOT NULL DEFAULT '{}',
  connect_timeout_ms integer NOT NULL DEFAULT 5000 CHECK (connect_timeout_ms > 0),
  first_token_timeout_ms integer NOT NULL DEFAULT 120000 CHECK (first_token_timeout_ms > 0),
  idle_timeout_ms integer NOT NULL DEFAULT 120000 CHECK (idle_timeout_ms > 0),
  total_timeout_ms integer NOT NULL DEFAULT 900000 CHECK (total_timeout_ms > 0),
  max_concurrency integer CHECK (max_concurrency > 0),
  enabled boolean NOT NULL DEFAULT true,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz
);
CREATE UNIQUE INDEX upstreams_name ON upstreams (name) WHERE deleted_at IS NULL;

CREATE TABLE routes (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  model_id integer NOT NULL REFERENCES models (id),
  upstream_id integer NOT NULL REFERENCES upstreams (id),
  upstream_model text NOT NULL,
  priority integer NOT NULL DEFAULT 0,
  weight integer NOT NULL DEFAULT 1 CHECK (weight > 0),
  enabled boolean NOT NULL DEFAULT true,
  output_limit_field text NOT NULL DEFAULT 'max_tokens' CHECK (output_limit_field IN ('max_tokens', 'max_completion_tokens')),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX routes_model ON routes (model_id);
CREATE INDEX routes_upstream ON routes (upstream_id);

-- Fleet ----------------------------------------------------------------------------------------------------------------
CREATE TABLE snapshots (
  version bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  checksum text NOT NULL,
  document jsonb NOT NULL,
  -- The version this one restores, when it is a rollback.
  rollback_of bigint REFERENCES snapshots (version),
  created_by integer REFERENCES users (id),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE fleet_settings (
  id boolean PRIMARY KEY DEFAULT true CHECK (id),
  -- While set, changes are not published.
  pinned_version bigint REFERENCES snapshots (version),
  -- Counts changes that touch the routing document; the publisher compiles when it moved.
  change_seq bigint NOT NULL DEFAULT 0,
  published_seq bigint NOT NULL DEFAULT 0
);
INSERT INTO fleet_settings DEFAULT VALUES;

CREATE TABLE proxy_nodes (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  url text,
  -- SHA-256 hex of the node's own credential; null for a node that registered itself with the fleet credential.
  credential_hash text,
  is_self_registered boolean NOT NULL DEFAULT false,
  enabled boolean NOT NULL DEFAULT true,
  stopped boolean NOT NULL DEFAULT false,
  last_seen_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- A removed node stays as a tombstone: the fleet credential alone cannot bring it back.
  deleted_at timestamptz
);
CREATE UNIQUE INDEX proxy_nodes_name ON proxy_nodes (name) WHERE deleted_at IS NULL;

-- Writes to Redis that a transaction promised; repeated until done, so a killed process loses none.
CREATE TABLE live_state_outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('account', 'key', 'subscription', 'credit', 'withdrawal')),
  target_id integer NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- One row once the first shards were fenced: a missing epoch in Redis then means lost data, never a first start.
CREATE TABLE shard_epochs (
  shard text PRIMARY KEY,
  epoch text NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- Usage ----------------------------------------------------------------------------------------------------------------
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
  PRIMARY KEY (day, rid, seq)
) PARTITION BY RANGE (day);
CREATE TABLE usage_events_default PARTITION OF usage_events DEFAULT;
CREATE INDEX usage_events_user ON usage_events (user_id, started_at DESC, rid);
CREATE INDEX usage_events_subscription ON usage_events (subscription_id, day);

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
  PRIMARY KEY (hour, user_id, key_id, model_id, upstream_id)
);
CREATE INDEX usage_rollups_user ON usage_rollups (user_id, hour);

-- The same by UTC day, kept beside it, so that months over many accounts are read in milliseconds.
CREATE TABLE usage_rollups_daily (LIKE usage_rollups);
ALTER TABLE usage_rollups_daily RENAME COLUMN hour TO day;
ALTER TABLE usage_rollups_daily ALTER COLUMN day TYPE date USING day::date, ADD PRIMARY KEY (day, user_id, key_id, model_id, upstream_id);
CREATE INDEX usage_rollups_daily_user ON usage_rollups_daily (user_id, day);

CREATE TABLE usage_dead_letters (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  rid text NOT NULL,
  seq text NOT NULL,
  delta text NOT NULL,
  payload text NOT NULL,
  reason text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  resolved_at timestamptz,
  UNIQUE (rid, seq)
);

-- Activity and alerts --------------------------------------------------------------------------------------------------
CREATE TABLE activity_log (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL,
  actor_user_id integer,
  actor_name text,
  action text NOT NULL,
  target_kind text NOT NULL,
  target_id text,
  -- Secrets are masked before they get here.
  before jsonb,
  after jsonb,
  address text,
  request_id text,
  previous_hash text NOT NULL,
  hash text NOT NULL UNIQUE
);
CREATE TRIGGER activity_log_append_only BEFORE UPDATE OR DELETE ON activity_log FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER activity_log_no_truncate BEFORE TRUNCATE ON activity_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE alerts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  rule text NOT NULL,
  severity text NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
  -- What it is about, e.g. 'subscription:17'; one open alert per (rule, subject).
  subject text NOT NULL,
  message text NOT NULL,
  detail jsonb NOT NULL DEFAULT '{}',
  raised_at timestamptz NOT NULL DEFAULT now(),
  last_seen_at timestamptz NOT NULL DEFAULT now(),
  resolved_at timestamptz
);
CREATE UNIQUE INDEX alerts_open ON alerts (rule, subject) WHERE resolved_at IS NULL;
`;

export class Initial1763683200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(SCHEMA);
  }

  async down(): Promise<void> {
    throw new Error('the first migration cannot be undone: it would drop the books');
  }
}
