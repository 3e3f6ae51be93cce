/** Makes subscriptions and tokens. */
export const TOKENS = `
-- Has one row per (user, model) permanently: subscribing again reopens it, so late settlements always find their subscription.
CREATE TABLE subscriptions (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id integer NOT NULL REFERENCES users (id),
  model_id integer NOT NULL REFERENCES models (id),
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'closing', 'closed')),
  balance bigint NOT NULL DEFAULT 0 CONSTRAINT subscription_not_negative CHECK (balance >= 0),
  -- Is sum(token_overdrafts): usage that no balance covered; below zero while a correction has overtaken the charge it corrects.
  -- balance - overdraft is what Redis holds once all credits are applied and all events are in.
  overdraft bigint NOT NULL DEFAULT 0,
  -- Is the last sequence number given to a credit; Redis applies only cseq + 1.
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
  -- Is the time at which its live record last changed: updated_at moves with every charge and cannot show that.
  revised_at timestamptz NOT NULL DEFAULT now(),
  -- Says why an automatic purchase waits for auto_recharge_retry_at: money in the wallet repairs nothing but a want of money.
  auto_recharge_refusal text,
  UNIQUE (user_id, model_id),
  CHECK ((auto_recharge_threshold IS NULL) = (auto_recharge_amount IS NULL))
);
CREATE INDEX subscriptions_model ON subscriptions (model_id);
CREATE INDEX subscriptions_auto_recharge ON subscriptions (id) WHERE auto_recharge_amount > 0 AND status = 'active';
-- Closed subscriptions that hold tokens or owe some are looked for every few seconds.
CREATE INDEX subscriptions_unsettled ON subscriptions (id) WHERE status = 'closed' AND balance <> overdraft;
CREATE FUNCTION note_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.revised_at := now();
  RETURN NEW;
END $$;
CREATE TRIGGER subscriptions_revised BEFORE UPDATE OF revision ON subscriptions FOR EACH ROW EXECUTE FUNCTION note_revision();

-- Tokens are consumed oldest lot first; a refund is the unused share of what the lot cost, rounded down.
CREATE TABLE token_lots (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  subscription_id integer NOT NULL REFERENCES subscriptions (id),
  credit_seq bigint NOT NULL,
  tokens bigint NOT NULL CHECK (tokens > 0),
  remaining bigint NOT NULL,
  -- Counts tokens that left by withdrawal; tokens - remaining - withdrawn is what usage consumed.
  withdrawn bigint NOT NULL DEFAULT 0 CHECK (withdrawn >= 0),
  cost bigint NOT NULL CHECK (cost >= 0),
  -- Is the part of cost that has been paid back so far.
  refunded bigint NOT NULL DEFAULT 0 CHECK (refunded >= 0 AND refunded <= cost),
  created_at timestamptz NOT NULL DEFAULT now(),
  CHECK (remaining >= 0 AND remaining + withdrawn <= tokens),
  UNIQUE (subscription_id, credit_seq)
);
CREATE INDEX token_lots_open ON token_lots (subscription_id, id) WHERE remaining > 0;

-- Holds credits that Redis gets, by contiguous sequence (libs/keyspace/README.md). Redis itself says which it has.
CREATE TABLE token_credits (
  subscription_id integer NOT NULL REFERENCES subscriptions (id),
  seq bigint NOT NULL,
  -- Is negative only for repairs: 'reconciliation', and 'late_usage' that PostgreSQL learned of first. These move Redis alone.
  delta bigint NOT NULL,
  kind text NOT NULL CHECK (kind IN ('subscribe', 'renew', 'auto_recharge', 'grant', 'reconciliation', 'late_usage')),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (subscription_id, seq)
);
CREATE INDEX token_credits_newest ON token_credits (created_at);

-- Is the append-only token ledger: subscriptions.balance = sum(delta).
CREATE TABLE token_entries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  subscription_id integer NOT NULL REFERENCES subscriptions (id),
  kind text NOT NULL CHECK (kind IN ('credit', 'usage', 'withdrawal', 'reconciliation')),
  -- Is 'credit:<seq>', 'usage:<batch uuid>' or 'withdrawal:<rid>:<seq>'.
  reference text NOT NULL,
  delta bigint NOT NULL CHECK (delta <> 0),
  balance_after bigint NOT NULL CHECK (balance_after >= 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (subscription_id, kind, reference)
);
CREATE INDEX token_entries_newest ON token_entries (subscription_id, id DESC);
CREATE TRIGGER token_entries_append_only BEFORE UPDATE OR DELETE ON token_entries FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER token_entries_no_truncate BEFORE TRUNCATE ON token_entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Holds charged usage that no balance covered (a late correction, an upstream beyond its bound).
CREATE TABLE token_overdrafts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  subscription_id integer NOT NULL REFERENCES subscriptions (id),
  reference text NOT NULL,
  tokens bigint NOT NULL CHECK (tokens <> 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (subscription_id, reference)
);
`;
