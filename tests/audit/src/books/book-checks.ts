/** What must hold in PostgreSQL at any moment. `problems` selects one text per violation; `compared` counts what was looked at. */
export interface BookCheck {
  name: string;
  /** In words, for the reader of the table. */
  promise: string;
  compared: string;
  problems: string;
}

const CHARGED = `u.kind IN ('usage', 'reap')`;

export const BOOK_CHECKS: readonly BookCheck[] = [
  {
    name: 'wallet transactions',
    promise: 'every transaction sums to zero',
    compared: 'SELECT count(*) FROM ledger_transactions',
    problems: `SELECT format('transaction %s sums to %s', transaction_id, sum(amount)) AS problem FROM ledger_entries GROUP BY transaction_id HAVING sum(amount) <> 0`,
  },
  {
    name: 'wallet balances',
    promise: 'balance == sum of entries == last balance_after',
    compared: 'SELECT count(*) FROM ledger_accounts',
    problems: `
      SELECT format('%s account %s: balance %s, entries %s, last entry says %s', a.kind, a.id, a.balance, coalesce(e.total, 0), l.balance_after) AS problem
      FROM ledger_accounts a
      LEFT JOIN (SELECT ledger_account_id, sum(amount) AS total FROM ledger_entries GROUP BY 1) e ON e.ledger_account_id = a.id
      LEFT JOIN LATERAL (SELECT balance_after FROM ledger_entries WHERE ledger_account_id = a.id ORDER BY id DESC LIMIT 1) l ON true
      WHERE a.balance <> coalesce(e.total, 0) OR a.balance <> coalesce(l.balance_after, 0)`,
  },
  {
    name: 'token balances',
    promise: 'balance == sum of entries == sum of lots',
    compared: 'SELECT count(*) FROM subscriptions',
    problems: `
      SELECT format('subscription %s: balance %s, entries %s, lots %s', s.id, s.balance, coalesce(e.total, 0), coalesce(l.total, 0)) AS problem
      FROM subscriptions s
      LEFT JOIN (SELECT subscription_id, sum(delta) AS total FROM token_entries GROUP BY 1) e ON e.subscription_id = s.id
      LEFT JOIN (SELECT subscription_id, sum(remaining) AS total FROM token_lots GROUP BY 1) l ON l.subscription_id = s.id
      WHERE s.balance <> coalesce(e.total, 0) OR s.balance <> coalesce(l.total, 0)`,
  },
  {
    name: 'overdrafts',
    promise: 'overdraft == sum of overdraft entries, never beside a balance',
    compared: 'SELECT count(*) FROM token_overdrafts',
    problems: `
      SELECT format('subscription %s: overdraft %s, entries %s, balance %s', s.id, s.overdraft, coalesce(o.total, 0), s.balance) AS problem
      FROM subscriptions s
      LEFT JOIN (SELECT subscription_id, sum(tokens) AS total FROM token_overdrafts GROUP BY 1) o ON o.subscription_id = s.id
      WHERE s.overdraft <> coalesce(o.total, 0) OR (s.overdraft > 0 AND s.balance > 0)`,
  },
  {
    name: 'token equation',
    promise: 'credits - usage - withdrawals == balance - overdraft',
    compared: 'SELECT count(*) FROM subscriptions',
    problems: `
      SELECT format('subscription %s: credits %s - events %s <> balance %s - overdraft %s', s.id, coalesce(c.total, 0), coalesce(u.total, 0), s.balance, s.overdraft) AS problem
      FROM subscriptions s
      LEFT JOIN (SELECT subscription_id, sum(delta) AS total FROM token_credits WHERE kind NOT IN ('reconciliation', 'late_usage') GROUP BY 1) c ON c.subscription_id = s.id
      LEFT JOIN (SELECT subscription_id, sum(delta) AS total FROM usage_events GROUP BY 1) u ON u.subscription_id = s.id
      WHERE coalesce(c.total, 0) - coalesce(u.total, 0) <> s.balance - s.overdraft`,
  },
  {
    name: 'credits',
    promise: 'numbered without gaps, all applied',
    compared: 'SELECT count(*) FROM token_credits',
    problems: `
      SELECT format('subscription %s: %s credits up to %s, credit_seq %s, %s not applied', s.id, c.n, c.last, s.credit_seq, c.pending) AS problem
      FROM subscriptions s
      JOIN (SELECT subscription_id, count(*) AS n, max(seq) AS last, count(*) FILTER (WHERE applied_at IS NULL) AS pending FROM token_credits GROUP BY 1) c ON c.subscription_id = s.id
      WHERE c.n <> c.last OR c.last <> s.credit_seq OR c.pending > 0`,
  },
  {
    name: 'charges',
    promise: 'what left the balance == the charge of the final',
    compared: `SELECT count(DISTINCT rid) FROM usage_events u WHERE ${CHARGED}`,
    problems: `
      SELECT format('request %s: deltas sum to %s, its charge is %s', u.rid, sum(u.delta), max(u.charge)) AS problem
      FROM usage_events u WHERE ${CHARGED} GROUP BY u.day, u.rid HAVING bool_or(u.kind = 'usage') AND sum(u.delta) <> max(u.charge)`,
  },
  {
    name: 'prices',
    promise: 'each charge == its tokens by its price version, rounded up',
    compared: `SELECT count(*) FROM usage_events u WHERE u.kind = 'usage'`,
    problems: `
      SELECT format('request %s: charged %s, its tokens cost %s', u.rid, u.charge, c.charge) AS problem
      FROM usage_events u JOIN price_versions p ON p.id = u.price_version_id,
      LATERAL (SELECT ceil((u.input_tokens::numeric * p.weight_input + u.output_tokens * p.weight_output
        + u.cache_read_tokens * p.weight_cache_read + u.cache_write_tokens * p.weight_cache_write) / 1000000) AS charge) c
      WHERE u.kind = 'usage' AND u.charge <> c.charge`,
  },
  {
    name: 'roll-ups',
    promise: 'sums by hour, key and model == the usage rows',
    compared: 'SELECT count(*) FROM usage_rollups',
    problems: `
      WITH rows AS (
        SELECT date_trunc('hour', u.started_at, 'UTC') AS hour, u.user_id, u.key_id, u.model_id, count(DISTINCT u.rid) AS requests, sum(u.delta) AS charge,
          sum(coalesce(u.input_tokens, 0)) AS input, sum(coalesce(u.cache_read_tokens, 0)) AS cache_read, sum(coalesce(u.cache_write_tokens, 0)) AS cache_write, sum(coalesce(u.output_tokens, 0)) AS output
        FROM usage_events u WHERE ${CHARGED} GROUP BY 1, 2, 3, 4
      ), sums AS (
        SELECT hour, user_id, key_id, model_id, sum(requests) AS requests, sum(charge) AS charge, sum(input_tokens) AS input, sum(cache_read_tokens) AS cache_read, sum(cache_write_tokens) AS cache_write, sum(output_tokens) AS output
        FROM usage_rollups GROUP BY 1, 2, 3, 4
      )
      SELECT format('%s user %s key %s model %s: rows %s, roll-ups %s', hour, user_id, key_id, model_id, row(r.requests, r.charge, r.input, r.cache_read, r.cache_write, r.output), row(s.requests, s.charge, s.input, s.cache_read, s.cache_write, s.output)) AS problem
      FROM rows r FULL JOIN sums s USING (hour, user_id, key_id, model_id)
      WHERE row(r.requests, r.charge, r.input, r.cache_read, r.cache_write, r.output) IS DISTINCT FROM row(s.requests, s.charge, s.input, s.cache_read, s.cache_write, s.output)`,
  },
  {
    name: 'daily roll-ups',
    promise: 'each day == its hours',
    compared: 'SELECT count(*) FROM usage_rollups_daily',
    problems: `
      WITH hours AS (
        SELECT date_trunc('day', hour, 'UTC')::timestamptz AT TIME ZONE 'UTC' AS day, user_id, key_id, model_id, upstream_id,
          row(sum(requests), sum(errors), sum(charge), sum(input_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(output_tokens)) AS sums
        FROM usage_rollups GROUP BY 1, 2, 3, 4, 5
      ), days AS (
        SELECT day::timestamp AS day, user_id, key_id, model_id, upstream_id,
          row(requests::numeric, errors::numeric, charge::numeric, input_tokens::numeric, cache_read_tokens::numeric, cache_write_tokens::numeric, output_tokens::numeric) AS sums
        FROM usage_rollups_daily
      )
      SELECT format('%s user %s key %s model %s upstream %s: hours %s, day %s', day::date, user_id, key_id, model_id, upstream_id, h.sums, d.sums) AS problem
      FROM hours h FULL JOIN days d USING (day, user_id, key_id, model_id, upstream_id) WHERE h.sums IS DISTINCT FROM d.sums`,
  },
  {
    name: 'dead letters',
    promise: 'none unresolved',
    compared: 'SELECT count(*) FROM usage_dead_letters',
    problems: `SELECT format('request %s:%s of %s: %s', rid, seq, delta, reason) AS problem FROM usage_dead_letters WHERE resolved_at IS NULL`,
  },
  {
    name: 'promised writes',
    promise: 'nothing is still on its way to Redis',
    compared: 'SELECT count(*) FROM live_state_outbox',
    problems: `SELECT format('%s %s since %s', kind, target_id, created_at) AS problem FROM live_state_outbox`,
  },
];
