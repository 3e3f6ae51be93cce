/** Makes the double-entry books, which are append-only. */
export const MONEY = `
CREATE TABLE ledger_accounts (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('wallet', 'payments', 'revenue', 'grants', 'overdraft')),
  user_id integer REFERENCES users (id),
  -- A house account stands against all wallets together, for as long as the installation lives. Single amounts stay within bigint.
  balance numeric(38, 0) NOT NULL DEFAULT 0,
  CHECK ((kind = 'wallet') = (user_id IS NOT NULL)),
  CONSTRAINT wallet_not_negative CHECK (kind <> 'wallet' OR balance >= 0)
);
CREATE UNIQUE INDEX ledger_accounts_wallet ON ledger_accounts (user_id) WHERE kind = 'wallet';
CREATE UNIQUE INDEX ledger_accounts_house ON ledger_accounts (kind) WHERE kind <> 'wallet';
INSERT INTO ledger_accounts (kind) VALUES ('payments'), ('revenue'), ('grants'), ('overdraft');

CREATE TABLE ledger_transactions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('recharge', 'admin_recharge', 'subscribe', 'renew', 'auto_recharge', 'refund', 'forfeit', 'adjustment', 'payout', 'payout_return')),
  -- Names the cause, such as 'credit:17:3' or 'withdrawal:<uuid>:0'; it is unique per kind, so a retry posts once.
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
  balance_after numeric(38, 0) NOT NULL
);
CREATE INDEX ledger_entries_account ON ledger_entries (ledger_account_id, id DESC);
CREATE INDEX ledger_entries_transaction ON ledger_entries (transaction_id);

-- Rows are append-only, but for one change: an erasure, which says so in its transaction, empties what names a person. It cannot change amounts, ids, times and hashes.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE named text[] := CASE TG_TABLE_NAME
  WHEN 'activity_log' THEN ARRAY['actor_name', 'address', 'before', 'after']
  WHEN 'ledger_transactions' THEN ARRAY['note'] END;
BEGIN
  IF TG_OP = 'UPDATE' AND named IS NOT NULL AND current_setting('tollgate.erasing', true) = 'on'
    AND to_jsonb(NEW) - named = to_jsonb(OLD) - named
    AND NOT EXISTS (SELECT 1 FROM jsonb_each(to_jsonb(NEW)) WHERE key = ANY (named) AND value <> 'null')
  THEN RETURN NEW; END IF;
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;
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


-- Holds online recharges. The ledger posts 'payment:<id>' once, so a webhook that comes twice credits once.
CREATE TABLE payments (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id integer NOT NULL REFERENCES users (id),
  provider text NOT NULL,
  -- Is the provider's own id of it; null until the provider gave one.
  provider_reference text,
  amount bigint NOT NULL CHECK (amount > 0),
  currency text NOT NULL,
  status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'paid', 'failed')),
  created_by integer REFERENCES users (id),
  created_at timestamptz NOT NULL DEFAULT now(),
  paid_at timestamptz,
  CHECK ((status = 'paid') = (paid_at IS NOT NULL)),
  UNIQUE (provider, provider_reference)
);
CREATE INDEX payments_user ON payments (user_id, id DESC);

-- Holds money that returns to its payer through the payment provider, and to the wallet when the provider does not pay it.
CREATE TABLE payouts (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id integer NOT NULL REFERENCES users (id),
  payment_id integer NOT NULL REFERENCES payments (id),
  ledger_transaction_id bigint NOT NULL REFERENCES ledger_transactions (id),
  provider text NOT NULL,
  provider_reference text,
  amount bigint NOT NULL CHECK (amount > 0),
  currency text NOT NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'paid', 'failed')),
  attempts integer NOT NULL DEFAULT 0,
  -- It is not sent again before this time: the lease of who sends it, and the pause after a failure.
  retry_at timestamptz NOT NULL,
  failure text,
  created_at timestamptz NOT NULL DEFAULT now(),
  settled_at timestamptz,
  CHECK ((status = 'pending') = (settled_at IS NULL))
);
CREATE INDEX payouts_user ON payouts (user_id, id DESC);
CREATE INDEX payouts_payment ON payouts (payment_id);
CREATE INDEX payouts_pending ON payouts (retry_at) WHERE status = 'pending';
`;
