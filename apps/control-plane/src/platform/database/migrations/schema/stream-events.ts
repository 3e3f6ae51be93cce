/**
 * Makes the events that GET /events streams, written in the transaction that causes them. An id from a sequence alone would lose events: a lower one may commit after
 * a higher one was read. The transaction's id stands first; a reader stops below the oldest transaction that still runs, so what it has
 * passed is complete and any replica continues from there. Rows are kept for minutes.
 */
export const STREAM_EVENTS = `
CREATE TABLE stream_events (
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  id bigint GENERATED ALWAYS AS IDENTITY,
  -- Is its owner; null where administrators alone see it.
  user_id integer,
  kind text NOT NULL CHECK (kind IN ('alert', 'node', 'requests', 'balance', 'wallet')),
  data jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (xid, id)
);
-- Everything at or below this transaction has been deleted: a stream that stopped there has missed something.
CREATE TABLE stream_horizon (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), xid xid8 NOT NULL);
INSERT INTO stream_horizon (xid) VALUES ('0');

-- Holds the last state of each node that was streamed. reported_at keeps a replica that looks later from streaming an older one.
CREATE TABLE stream_nodes (node_id integer PRIMARY KEY, reported_at bigint NOT NULL, data jsonb NOT NULL);

CREATE FUNCTION stream_alert() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  owner integer;
BEGIN
  IF TG_OP = 'UPDATE' AND NEW.resolved_at IS NOT DISTINCT FROM OLD.resolved_at THEN RETURN NULL; END IF;
  IF NEW.rule IN ('low_balance', 'auto_recharge_failed', 'overdraft') AND NEW.subject ~ '^subscription:[0-9]{1,9}$' THEN
    SELECT user_id INTO owner FROM subscriptions WHERE id = split_part(NEW.subject, ':', 2)::integer;
  END IF;
  IF NEW.rule IN ('budget_threshold', 'budget_exhausted') AND NEW.subject ~ '^budget:[0-9]{1,9}:' THEN
    SELECT user_id INTO owner FROM budgets WHERE id = split_part(NEW.subject, ':', 2)::integer;
  END IF;
  INSERT INTO stream_events (user_id, kind, data) VALUES (owner, 'alert', jsonb_build_object('id', NEW.id));
  RETURN NULL;
END $$;
CREATE TRIGGER alerts_stream AFTER INSERT OR UPDATE OF resolved_at ON alerts FOR EACH ROW EXECUTE FUNCTION stream_alert();

-- Adds one row per account and statement, however many requests a batch books. The newest are named, the rest are counted.
CREATE FUNCTION stream_requests() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO stream_events (user_id, kind, data)
  SELECT user_id, 'requests', jsonb_build_object('count', count(*), 'rids', to_jsonb((array_agg(rid ORDER BY rid DESC))[1:20]))
  FROM new_rows WHERE kind <> 'withdraw' GROUP BY user_id;
  RETURN NULL;
END $$;
CREATE TRIGGER usage_events_stream AFTER INSERT ON usage_events REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION stream_requests();

CREATE FUNCTION stream_balances() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO stream_events (user_id, kind, data) SELECT user_id, 'balance', jsonb_build_object(
      'subscription_id', id, 'model_id', model_id, 'status', status, 'tokens', balance - overdraft) FROM new_rows;
  ELSE
    INSERT INTO stream_events (user_id, kind, data) SELECT n.user_id, 'balance', jsonb_build_object(
      'subscription_id', n.id, 'model_id', n.model_id, 'status', n.status, 'tokens', n.balance - n.overdraft)
    FROM new_rows n JOIN old_rows o USING (id)
    WHERE (n.balance, n.overdraft, n.status) IS DISTINCT FROM (o.balance, o.overdraft, o.status);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER subscriptions_stream_insert AFTER INSERT ON subscriptions REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION stream_balances();
CREATE TRIGGER subscriptions_stream_update AFTER UPDATE ON subscriptions REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION stream_balances();

CREATE FUNCTION stream_wallets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO stream_events (user_id, kind, data)
  VALUES (NEW.user_id, 'wallet', jsonb_build_object('micros', NEW.balance::text));
  RETURN NULL;
END $$;
CREATE TRIGGER ledger_accounts_stream AFTER UPDATE OF balance ON ledger_accounts FOR EACH ROW
  WHEN (NEW.kind = 'wallet' AND NEW.balance IS DISTINCT FROM OLD.balance) EXECUTE FUNCTION stream_wallets();
`;
