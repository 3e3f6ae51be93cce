/** Budgets of keys and accounts, what was used of each in each of its periods, and what people changed in one. */
export const BUDGETS = `
CREATE TABLE budgets (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id integer NOT NULL REFERENCES users (id),
  -- Is null for the whole account.
  key_id integer REFERENCES api_keys (id),
  -- usage counts requests, in Redis and as they are booked; purchases counts what auto-recharge buys, in PostgreSQL alone.
  of text NOT NULL DEFAULT 'usage' CHECK (of IN ('usage', 'purchases')),
  -- Is set where it counts each session, or each end user, by itself.
  each text CHECK (each IN ('session', 'end_user')),
  -- A request that names none is refused.
  requires_value boolean NOT NULL DEFAULT false,
  unit text NOT NULL CHECK (unit IN ('charged_tokens', 'tokens', 'money', 'requests')),
  -- Is the amount of one period, in micro-units when the unit is money.
  amount bigint NOT NULL CHECK (amount BETWEEN 0 AND 9007199254740991),
  period text NOT NULL CHECK (period IN ('day', 'week', 'month', 'year', 'rolling', 'none')),
  -- Is set where it is rolling: a bucket of its window has as many seconds, and is a period.
  window_minutes integer CHECK (window_minutes BETWEEN 5 AND 129600),
  time_zone text NOT NULL,
  -- Holds comma-separated names and globs of models; empty means all.
  models text NOT NULL DEFAULT '',
  action text NOT NULL CHECK (action IN ('refuse', 'fallback', 'notify')),
  notify_at smallint[] NOT NULL DEFAULT '{}',
  is_of_administrator boolean NOT NULL,
  -- Lists the Unix seconds at which the period that was current then and those after it begin, in order; 0 alone without periods. The last one has no end.
  -- A rolling budget keeps its last reset here, or 0.
  starts bigint[] NOT NULL CHECK (cardinality(starts) > 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Is the time since which it counts the requests that it counts now: its creation, or the last change of its models.
  defined_at timestamptz NOT NULL DEFAULT now(),
  -- Rises with every change that the live record in Redis must follow.
  updated_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz,
  CHECK (each IS NULL OR period NOT IN ('year', 'none')),
  CHECK ((period = 'rolling') = (window_minutes IS NOT NULL)),
  CHECK (each IS NOT NULL OR NOT requires_value),
  CHECK (of = 'usage' OR (key_id IS NULL AND each IS NULL AND unit = 'money' AND action <> 'fallback'))
);
CREATE INDEX budgets_user ON budgets (user_id) WHERE deleted_at IS NULL;
CREATE INDEX budgets_key ON budgets (key_id) WHERE deleted_at IS NULL;

-- Is written in the transaction that books the usage, or that buys.
CREATE TABLE budget_periods (
  budget_id integer NOT NULL REFERENCES budgets (id),
  started_at bigint NOT NULL,
  -- Is the hash of a session or an end user (SCOPE_VALUE of libs/contracts); empty where the budget counts all requests together. Grants are in the row with the empty one.
  value text NOT NULL DEFAULT '',
  used bigint NOT NULL DEFAULT 0,
  -- Is the part of it that Redis does not count: it was booked from a journal, or from an epoch that is gone.
  late bigint NOT NULL DEFAULT 0,
  -- Is the sum of the grants of budget_entries.
  granted bigint NOT NULL DEFAULT 0,
  -- Is the highest percentage that was notified.
  notified smallint NOT NULL DEFAULT 0,
  PRIMARY KEY (budget_id, started_at, value)
);

-- Holds the changes that people made in a period, and the purchases that count in it. Rows are never edited.
CREATE TABLE budget_entries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  budget_id integer NOT NULL REFERENCES budgets (id),
  started_at bigint NOT NULL,
  kind text NOT NULL CHECK (kind IN ('grant', 'reset', 'purchase')),
  amount bigint NOT NULL,
  -- Is the reference of a purchase's ledger transaction.
  reason text NOT NULL,
  author_id integer NOT NULL REFERENCES users (id),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX budget_entries_budget ON budget_entries (budget_id, id);
CREATE TRIGGER budget_entries_unchanged BEFORE UPDATE OR DELETE ON budget_entries FOR EACH ROW EXECUTE FUNCTION refuse_change();
`;
