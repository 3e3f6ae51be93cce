/** Makes the activity log, alerts, proofs of the books and restores. */
export const ACTIVITY = `
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
  hash text NOT NULL UNIQUE,
  -- Is the access token that changed it; null for a session.
  token_id integer
);
CREATE INDEX activity_log_token ON activity_log (token_id, id) WHERE token_id IS NOT NULL;
CREATE TRIGGER activity_log_append_only BEFORE UPDATE OR DELETE ON activity_log FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER activity_log_no_truncate BEFORE TRUNCATE ON activity_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE alerts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  rule text NOT NULL,
  severity text NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
  -- Names the subject, such as 'subscription:17'; one alert is open per (rule, subject).
  subject text NOT NULL,
  message text NOT NULL,
  detail jsonb NOT NULL DEFAULT '{}',
  raised_at timestamptz NOT NULL DEFAULT now(),
  last_seen_at timestamptz NOT NULL DEFAULT now(),
  resolved_at timestamptz
);
CREATE UNIQUE INDEX alerts_open ON alerts (rule, subject) WHERE resolved_at IS NULL;
-- Holds what the webhook still has to report; a row is deleted when it was reported, or given up.
CREATE TABLE alert_deliveries (
  alert_id bigint NOT NULL REFERENCES alerts (id),
  event text NOT NULL CHECK (event IN ('raised', 'resolved')),
  attempts integer NOT NULL DEFAULT 0,
  due_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (alert_id, event)
);
CREATE INDEX alert_deliveries_due ON alert_deliveries (due_at);

-- Says when each equality of the books was last compared, and when it last held.
CREATE TABLE books_proofs (
  name text PRIMARY KEY,
  checked_at timestamptz NOT NULL,
  proven_at timestamptz,
  problems integer NOT NULL,
  example jsonb,
  duration_ms integer NOT NULL
);
-- One audit runs at a time, whichever replica runs it.
CREATE TABLE books_audit (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), running_since timestamptz);
INSERT INTO books_audit DEFAULT VALUES;

-- Lists the backups that were loaded here, and what had been lost since each was taken.
CREATE TABLE restores (
  backup_id uuid PRIMARY KEY,
  taken_at timestamptz NOT NULL,
  restored_at timestamptz NOT NULL DEFAULT now(),
  -- Holds losses by subscription, as tollgate-ops loss has read them from Redis; null until then.
  loss jsonb,
  -- Redis was filled again from these books. Until then balances are not reconciled: the difference is the loss.
  closed_at timestamptz
);
`;
