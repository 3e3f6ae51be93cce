import { SUMMED_COLUMNS } from '../../platform/database/summed-columns.ts';

/** Rows of a roll-up that differ from the sums of a finer one. */
function differs(
  { table, period }: { table: string; period: string },
  finer: string,
  keys: readonly string[],
): string {
  const group = [period, ...keys].join(', ');
  return `
    SELECT * FROM (SELECT ${group}, row(${SUMMED_COLUMNS.map((name) => `sum(${name})`).join(', ')}) AS sums FROM (${finer}) f GROUP BY ${group}) f
      FULL JOIN (SELECT ${group}, row(${SUMMED_COLUMNS.map((name) => `(${name})::numeric`).join(', ')}) AS sums FROM ${table}) t USING (${group})
    WHERE f.sums IS DISTINCT FROM t.sums`;
}

interface Equality {
  /** What must hold, in a sentence. */
  says: string;
  /** Finds the rows that break it. */
  sql: string;
}

/** What must hold of PostgreSQL's books at any moment. */
export const EQUALITIES = {
  ledger_transactions: {
    says: 'The entries of each ledger transaction sum to zero',
    sql: 'SELECT transaction_id FROM ledger_entries GROUP BY transaction_id HAVING sum(amount) <> 0',
  },
  wallets: {
    says: 'Each ledger balance is the sum of its entries',
    sql: 'SELECT a.id, a.kind, a.user_id FROM ledger_accounts a LEFT JOIN ledger_entries e ON e.ledger_account_id = a.id GROUP BY a.id HAVING a.balance <> coalesce(sum(e.amount), 0)',
  },
  payouts: {
    says: 'No payment is paid back beyond its amount, and each payout is in the ledger, the failed ones returned',
    sql: `SELECT payment_id AS id FROM payouts JOIN payments p ON p.id = payment_id WHERE payouts.status <> 'failed' GROUP BY payment_id, p.amount HAVING sum(payouts.amount) > p.amount
      UNION ALL SELECT o.ledger_transaction_id FROM payouts o JOIN ledger_entries e ON e.transaction_id = o.ledger_transaction_id AND e.amount < 0 GROUP BY o.ledger_transaction_id, e.amount HAVING sum(o.amount) <> -e.amount
      UNION ALL SELECT o.id FROM payouts o LEFT JOIN ledger_transactions t ON t.kind = 'payout_return' AND t.reference = 'payout:' || o.id
        LEFT JOIN ledger_entries e ON e.transaction_id = t.id AND e.amount > 0 WHERE CASE WHEN o.status = 'failed' THEN o.amount ELSE 0 END <> coalesce(e.amount, 0)`,
  },
  token_balances: {
    says: 'Each token balance is the sum of its ledger entries',
    sql: 'SELECT s.id AS subscription_id FROM subscriptions s LEFT JOIN token_entries t ON t.subscription_id = s.id GROUP BY s.id HAVING s.balance <> coalesce(sum(t.delta), 0)',
  },
  token_lots: {
    says: 'Each token balance is what its lots hold',
    sql: 'SELECT s.id AS subscription_id FROM subscriptions s LEFT JOIN token_lots l ON l.subscription_id = s.id GROUP BY s.id HAVING s.balance <> coalesce(sum(l.remaining), 0)',
  },
  overdrafts: {
    says: 'Each overdraft is the sum of its rows',
    sql: 'SELECT s.id AS subscription_id FROM subscriptions s LEFT JOIN token_overdrafts o ON o.subscription_id = s.id GROUP BY s.id HAVING s.overdraft <> coalesce(sum(o.tokens), 0)',
  },
  daily_rollups: {
    says: 'Each day of usage is the sum of its hours',
    sql: differs(
      { table: 'usage_rollups_daily', period: 'day' },
      "SELECT *, (hour AT TIME ZONE 'UTC')::date AS day FROM usage_rollups",
      ['user_id', 'key_id', 'model_id', 'upstream_id'],
    ),
  },
  totals: {
    says: 'The totals of all accounts are the sums of their roll-ups',
    sql: differs({ table: 'usage_totals', period: 'hour' }, 'SELECT * FROM usage_rollups', [
      'model_id',
      'upstream_id',
    ]),
  },
  daily_totals: {
    says: 'The daily totals are the sums of the daily roll-ups',
    sql: differs(
      { table: 'usage_totals_daily', period: 'day' },
      'SELECT * FROM usage_rollups_daily',
      ['model_id', 'upstream_id'],
    ),
  },
} as const satisfies Record<string, Equality>;
/** Compared with Redis by the reconciliation, which repairs what two readings agree on. */
export const LIVE_BALANCES = {
  name: 'live_balances',
  says: 'Each balance in Redis is what the ledger determines',
} as const;
