import { CHARGED_TOKEN_FIELDS } from '@tollgate/contracts';
import {
  EQUALITIES,
  RULES,
  type Rule,
} from '../../../../apps/control-plane/src/features/books/equalities.ts';

/** Holds what must hold in PostgreSQL. `problems` selects one text per violation; `compared` counts what was looked at. */
export interface BookCheck {
  name: string;
  /** Is in words, for the reader of the table. */
  promise: string;
  compared: string;
  problems: string;
}

const CHARGED = `u.kind IN ('usage', 'reap')`;
const SUMS = ['requests', 'charge', ...CHARGED_TOKEN_FIELDS];
const DAY_SUMS = [...SUMS, 'errors'];

/** Minutes and hours are deleted after some time. */
const keptSince = (period: 'minute' | 'hour'): string =>
  `(SELECT since FROM usage_rollups_kept WHERE period = '${period}')`;

/** `keys` are columns that the roll-up and usage_events share. */
function differFromRows(
  table: string,
  keys: readonly string[],
  period: 'minute' | 'hour' = 'hour',
): string {
  const group = [period, ...keys].join(', ');
  const since = keptSince(period);
  const tokens = CHARGED_TOKEN_FIELDS.map(
    (name) => `sum(coalesce(u.${name}, 0))::numeric AS ${name}`,
  );
  return `
    WITH rows AS (
      SELECT date_trunc('${period}', u.started_at, 'UTC') AS ${period}, ${keys.map((key) => `u.${key}`).join(', ')}, count(DISTINCT u.rid)::numeric AS requests, sum(u.delta)::numeric AS charge, ${tokens.join(', ')}
      FROM usage_events u WHERE ${CHARGED} AND u.started_at >= ${since} GROUP BY ${ordinals(keys.length + 1)}
    ), sums AS (
      SELECT ${group}, ${SUMS.map((name) => `coalesce(sum(${name}), 0)::numeric AS ${name}`).join(', ')} FROM ${table} WHERE ${period} >= ${since} GROUP BY ${ordinals(keys.length + 1)}
    ), compared AS (
      SELECT ${group}, row(${SUMS.map((name) => `r.${name}`).join(', ')}) AS summed, row(${SUMS.map((name) => `s.${name}`).join(', ')}) AS kept FROM rows r FULL JOIN sums s USING (${group})
    )
    SELECT concat_ws(' ', ${group}) || format(' (${group}): rows %s, ${table} %s', summed, kept) AS problem FROM compared WHERE summed IS DISTINCT FROM kept`;
}

/** Returns the rules that the product proves of its own books. */
function toCheck([name, { says, table, sql }]: [string, Rule]): BookCheck {
  return {
    name: name.replaceAll('_', ' '),
    promise: says,
    compared: `SELECT count(*) FROM ${table}`,
    problems: `SELECT to_json(broken)::text AS problem FROM (${sql('true')}) broken`,
  };
}

function daysDifferFromHours(
  { days, hours }: { days: string; hours: string },
  keys: readonly string[],
): string {
  const group = ['day', ...keys].join(', ');
  return `
    WITH hours AS (
      SELECT (hour AT TIME ZONE 'UTC')::date AS day, ${keys.join(', ')}, row(${DAY_SUMS.map((name) => `coalesce(sum(${name}), 0)::numeric`).join(', ')}) AS sums FROM ${hours} WHERE hour >= ${keptSince('hour')} GROUP BY ${ordinals(keys.length + 1)}
    ), days AS (
      SELECT ${group}, row(${DAY_SUMS.map((name) => `coalesce(${name}, 0)::numeric`).join(', ')}) AS sums FROM ${days} WHERE day >= ${keptSince('hour')}
    )
    SELECT concat_ws(' ', ${group}) || format(' (${group}): hours %s, day %s', h.sums, d.sums) AS problem FROM hours h FULL JOIN days d USING (${group}) WHERE h.sums IS DISTINCT FROM d.sums`;
}

function ordinals(count: number): string {
  return Array.from({ length: count }, (_, index) => index + 1).join(', ');
}

/** Holds the equalities of budgets, which the product proves too. */
const BUDGET_CHECKS = (['budgets', 'budget_grants', 'budget_purchases'] as const).map((name) => ({
  name: name.replaceAll('_', ' '),
  promise: EQUALITIES[name].says,
  compared: 'SELECT count(*) FROM budget_periods',
  problems: `SELECT format('budget %s in the period from %s', budget_id, started_at) AS problem FROM (${EQUALITIES[name].sql}) broken`,
}));

export const BOOK_CHECKS: readonly BookCheck[] = [
  ...BUDGET_CHECKS,
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
    name: 'payouts',
    promise: 'paid back <= paid in; in the ledger once, and again once when failed',
    compared: 'SELECT count(*) FROM payouts',
    problems: `
      SELECT format('payment %s: paid back %s of %s', p.id, sum(o.amount), p.amount) AS problem
      FROM payments p JOIN payouts o ON o.payment_id = p.id WHERE o.status <> 'failed' GROUP BY p.id HAVING sum(o.amount) > p.amount
      UNION ALL
      SELECT format('payout %s (%s): amount %s, returned %s', o.id, o.status, o.amount, coalesce(e.amount, 0))
      FROM payouts o
      LEFT JOIN ledger_transactions t ON t.kind = 'payout_return' AND t.reference = 'payout:' || o.id
      LEFT JOIN ledger_entries e ON e.transaction_id = t.id AND e.amount > 0
      WHERE coalesce(e.amount, 0) <> CASE WHEN o.status = 'failed' THEN o.amount ELSE 0 END
      UNION ALL
      SELECT format('transaction %s: wallet %s, payouts %s', o.ledger_transaction_id, e.amount, sum(o.amount))
      FROM payouts o JOIN ledger_entries e ON e.transaction_id = o.ledger_transaction_id AND e.amount < 0
      GROUP BY o.ledger_transaction_id, e.amount HAVING sum(o.amount) <> -e.amount`,
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
    promise: 'numbered without gaps',
    compared: 'SELECT count(*) FROM token_credits',
    problems: `
      SELECT format('subscription %s: %s credits up to %s, credit_seq %s', s.id, c.n, c.last, s.credit_seq) AS problem
      FROM subscriptions s
      JOIN (SELECT subscription_id, count(*) AS n, max(seq) AS last FROM token_credits GROUP BY 1) c ON c.subscription_id = s.id
      WHERE c.n <> c.last OR c.last <> s.credit_seq`,
  },
  ...Object.entries(RULES).map(toCheck),
  {
    name: 'roll-ups',
    promise: 'sums by hour, key and model == the usage rows',
    compared: 'SELECT count(*) FROM usage_rollups',
    problems: differFromRows('usage_rollups', ['user_id', 'key_id', 'model_id']),
  },
  {
    name: 'roll-ups by minute',
    promise: 'sums by minute, key and model == the usage rows',
    compared: 'SELECT count(*) FROM usage_rollups_minute',
    problems: differFromRows('usage_rollups_minute', ['user_id', 'key_id', 'model_id'], 'minute'),
  },
  {
    name: 'daily roll-ups',
    promise: 'each day == its hours',
    compared: 'SELECT count(*) FROM usage_rollups_daily',
    problems: daysDifferFromHours({ days: 'usage_rollups_daily', hours: 'usage_rollups' }, [
      'user_id',
      'key_id',
      'model_id',
      'upstream_id',
    ]),
  },
  {
    name: 'totals',
    promise: 'sums by hour and model == the usage rows',
    compared: 'SELECT count(*) FROM usage_totals',
    problems: differFromRows('usage_totals', ['model_id']),
  },
  {
    name: 'daily totals',
    promise: 'each day == its hours',
    compared: 'SELECT count(*) FROM usage_totals_daily',
    problems: daysDifferFromHours({ days: 'usage_totals_daily', hours: 'usage_totals' }, [
      'model_id',
      'upstream_id',
    ]),
  },
  {
    name: 'promised writes',
    promise: 'nothing is still on its way to Redis',
    compared: 'SELECT count(*) FROM live_state_outbox',
    problems: `SELECT format('%s %s since %s', kind, target_id, created_at) AS problem FROM live_state_outbox`,
  },
];
