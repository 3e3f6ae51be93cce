import { CHARGED_ROWS, isChargedToken, USAGE_ROWS } from '@tollgate/contracts';
import { RATED_TOKENS, SUMMED_COLUMNS } from '../../platform/database/summed-columns.ts';
import type { UsagePeriodName } from '../../platform/database/usage-periods.ts';

/** Names a roll-up and the finer roll-up whose sums it holds. */
interface RollupOf {
  table: string;
  period: UsagePeriodName;
  finer: string;
  keys: readonly string[];
  /** Is the finer of the two periods, whose rows are deleted after some time. */
  kept?: 'minute' | 'hour';
}

/** Returns SQL for the time since which the sums of this period are kept. */
const keptSince = (period: 'minute' | 'hour'): string =>
  `(SELECT since FROM usage_rollups_kept WHERE period = '${period}')`;

/** Finds rows of a roll-up that differ from the sums of a finer one, within the time for which both are kept. */
export function differs(
  { table, period, finer, keys, kept }: RollupOf,
  sums: readonly string[] = SUMMED_COLUMNS,
): string {
  const group = [period, ...keys].join(', ');
  const rowsOf = (rows: string): string =>
    `${rows} r${kept === undefined ? '' : ` WHERE ${period} >= ${keptSince(kept)}`}`;
  return `
    SELECT * FROM (SELECT ${group}, row(${sums.map((name) => `coalesce(sum(${name}), 0)::numeric`).join(', ')}) AS sums FROM ${rowsOf(finer)} GROUP BY ${group}) f
      FULL JOIN (SELECT ${group}, row(${sums.map((name) => `coalesce(${name}, 0)::numeric`).join(', ')}) AS sums FROM ${rowsOf(table)}) t USING (${group})
    WHERE f.sums IS DISTINCT FROM t.sums`;
}

const WHO = ['user_id', 'key_id', 'model_id', 'upstream_id'];
const WHAT = ['model_id', 'upstream_id'];
/** Lists roll-ups and totals, each with the finer sums that it must equal. */
export const ROLLUPS = {
  hourly_rollups: {
    table: 'usage_rollups',
    period: 'hour',
    finer: "(SELECT *, date_trunc('hour', minute) AS hour FROM usage_rollups_minute)",
    keys: WHO,
    kept: 'minute',
  },
  daily_rollups: {
    table: 'usage_rollups_daily',
    period: 'day',
    finer: "(SELECT *, (hour AT TIME ZONE 'UTC')::date AS day FROM usage_rollups)",
    keys: WHO,
    kept: 'hour',
  },
  minute_totals: {
    table: 'usage_totals_minute',
    period: 'minute',
    finer: 'usage_rollups_minute',
    keys: WHAT,
    kept: 'minute',
  },
  totals: {
    table: 'usage_totals',
    period: 'hour',
    finer: 'usage_rollups',
    keys: WHAT,
    kept: 'hour',
  },
  daily_totals: {
    table: 'usage_totals_daily',
    period: 'day',
    finer: 'usage_rollups_daily',
    keys: WHAT,
  },
} as const satisfies Record<string, RollupOf>;

interface Equality {
  /** States the check in a sentence. */
  says: string;
  /** Finds the rows that fail it. */
  sql: string;
}

/** Computes `usedUnits` in SQL for a reap: the units of a budget for a number of charged tokens. */
const unitsOf = (tokens: string): string =>
  `CASE WHEN claim.base IS NOT NULL AND ${tokens} <= 0 THEN 0 WHEN claim.rate = 0 THEN coalesce(claim.base, 1)
    ELSE coalesce(claim.base, 0) + ceil(greatest(0, ${tokens})::numeric * claim.rate / 1000000) END`;
/** Computes the units for the whole charge of a request, or for its delta where the delta is the whole charge. */
const wholeUnitsOf = (tokens: string): string =>
  `CASE WHEN claim.base IS NOT NULL AND u.kind = 'usage' THEN ${RATED_TOKENS} ELSE ${unitsOf(tokens)} END`;
/** The control plane deletes the use of sessions and end users later than this. */
const VALUES_AUDITED_S = 60 * 86_400;
/** The control plane deletes buckets of rolling budgets three days after they have left their window. */
const BUCKETS_AUDITED_S = 2 * 86_400;
/** Sums the use of each request by budget. A correction counts the difference between the whole charge and the first charge. */
const BUDGETED = `
  SELECT b.id AS budget_id, claim.started_at, claim.value, sum(CASE WHEN u.seq = 1 THEN ${wholeUnitsOf('u.charge')} - ${unitsOf('u.charge - u.delta')} ELSE ${wholeUnitsOf('u.delta')} END) AS used
  FROM usage_events u, unnest(string_to_array(u.budgets, ',')) AS c(text),
    LATERAL (SELECT split_part(c.text, ':', 1)::int AS budget_id, split_part(c.text, ':', 2)::bigint AS started_at, split_part(split_part(c.text, ':', 3), '+', 1)::bigint AS rate,
      nullif(split_part(split_part(c.text, ':', 3), '+', 2), '')::bigint AS base, split_part(c.text, ':', 4) AS value) claim
    JOIN budgets b ON b.id = claim.budget_id
  WHERE u.budgets IS NOT NULL AND u.kind <> 'withdraw' AND b.user_id = u.user_id GROUP BY 1, 2, 3`;

/** Lists the equalities that hold for PostgreSQL's books at any moment. */
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
  budgets: {
    says: 'What is used of each budget in a period is what its requests used; of periods from which no day was dropped',
    sql: `SELECT budget_id, started_at FROM budget_periods p FULL JOIN (${BUDGETED}) u USING (budget_id, started_at, value) LEFT JOIN budgets b ON b.id = budget_id
      WHERE b.of = 'usage' AND coalesce(p.used, 0) <> coalesce(u.used, 0) AND (b.window_minutes IS NULL OR started_at >= extract(epoch FROM now()) - 60 * b.window_minutes - ${BUCKETS_AUDITED_S}) AND (value = '' OR started_at >= extract(epoch FROM now()) - ${VALUES_AUDITED_S}) AND started_at >= (SELECT extract(epoch FROM before + 1) FROM usage_dropped_days)`,
  },
  budget_purchases: {
    says: 'What is used of each budget of purchases in a period is what auto-recharge bought in it, as the ledger has it',
    sql: `SELECT budget_id, started_at FROM (SELECT p.* FROM budget_periods p JOIN budgets b ON b.id = p.budget_id WHERE b.of = 'purchases') p FULL JOIN (
        SELECT e.budget_id, e.started_at, sum(-l.amount) AS used FROM budget_entries e JOIN budgets b ON b.id = e.budget_id
          LEFT JOIN (ledger_transactions t JOIN ledger_entries l ON l.transaction_id = t.id JOIN ledger_accounts a ON a.id = l.ledger_account_id)
            ON t.kind = 'auto_recharge' AND t.reference = e.reason AND a.user_id = b.user_id AND -l.amount = e.amount
        WHERE e.kind = 'purchase' GROUP BY 1, 2) e
      USING (budget_id, started_at) WHERE coalesce(p.used, 0) <> coalesce(e.used, 0)`,
  },
  budget_grants: {
    says: 'What is granted of each budget in a period is the sum of its grants',
    sql: `SELECT budget_id, started_at FROM (SELECT * FROM budget_periods WHERE value = '') p FULL JOIN (SELECT budget_id, started_at, sum(amount) AS granted FROM budget_entries WHERE kind = 'grant' GROUP BY 1, 2) e
      USING (budget_id, started_at) WHERE coalesce(p.granted, 0) <> coalesce(e.granted, 0)`,
  },
  hourly_rollups: {
    says: 'Each hour of usage is the sum of its minutes, while these are kept',
    sql: differs(ROLLUPS.hourly_rollups),
  },
  daily_rollups: {
    says: 'Each day of usage is the sum of its hours, while these are kept',
    sql: differs(ROLLUPS.daily_rollups),
  },
  minute_totals: {
    says: 'The totals by minute are the sums of the roll-ups by minute',
    sql: differs(ROLLUPS.minute_totals),
  },
  totals: {
    says: 'The totals of all accounts are the sums of their roll-ups',
    sql: differs(ROLLUPS.totals),
  },
  daily_totals: {
    says: 'The daily totals are the sums of the daily roll-ups',
    sql: differs(ROLLUPS.daily_totals),
  },
} as const satisfies Record<string, Equality>;

/** Checks the rule by which each row was computed. Sums alone would also close over rows that a wrong rule computed. */
export interface Rule {
  /** States the rule in a sentence. */
  says: string;
  /** Names the table whose rows are counted as compared. */
  table: 'usage_events' | 'token_lots';
  /** Is true when the rule reads rows `u` of usage, which `days` narrows to one partition. */
  isByDay: boolean;
  /** Finds the rows that fail it. */
  sql: (days: string) => string;
}

const MICRO = '0.000001';
/** A missing weight is the parent's weight, or 0 without a parent. */
const WEIGHTS = CHARGED_ROWS.map(
  ({ name, parent }) =>
    `coalesce(t.weights ->> 'weight_${name}', t.weights ->> 'weight_${parent ?? name}', '0')::numeric AS ${name}`,
);
const PROMPT_TOKENS = USAGE_ROWS.filter((row) => row.side === 'prompt' && isChargedToken(row))
  .map(({ field }) => `coalesce(u.${field}, 0)`)
  .join(' + ');
/** Selects all weights of each version: its own from -1 prompt tokens on, then those of its tiers. */
const TIERS = `
  SELECT id, multipliers, above, lead(above) OVER (PARTITION BY id ORDER BY above) AS up_to, weights FROM (
    SELECT id, multipliers, -1 AS above, to_jsonb(p) AS weights FROM price_versions p
    UNION ALL SELECT id, multipliers, (tier ->> 'above_prompt_tokens')::bigint, tier -> 'weights' FROM price_versions, jsonb_array_elements(tiers) tier
  ) all_tiers`;

/**
 * Computes `chargeOfFinal` in SQL, for partitions of millions of rows: the weights of the prompt's tier, those of tokens times the multiplier of each
 * premium, rounded up after each.
 */
function mispriced(days: string): string {
  const multiplied = CHARGED_ROWS.map(({ name, unit }) =>
    unit === 'call'
      ? name
      : `ceil(${name} * (multipliers ->> (premiums ->> done))::numeric * ${MICRO})`,
  );
  const sum = CHARGED_ROWS.map(({ name, field }) => `coalesce(u.${field}, 0) * w.${name}`);
  return `
    WITH RECURSIVE bought AS (
      SELECT DISTINCT u.price_version_id AS id, u.premiums FROM usage_events u WHERE u.kind = 'usage' AND jsonb_typeof(u.premiums) = 'array' AND ${days}
      UNION SELECT id, '[]' FROM price_versions
    ), weights AS (
      SELECT t.id, t.above, t.up_to, b.premiums, 0 AS done, t.multipliers, ${WEIGHTS.join(', ')} FROM bought b JOIN (${TIERS}) t ON t.id = b.id
      UNION ALL SELECT id, above, up_to, premiums, done + 1, multipliers, ${multiplied.join(', ')} FROM weights WHERE done < jsonb_array_length(premiums)
    )
    SELECT u.rid, u.charge, c.charge AS costs FROM usage_events u
      LEFT JOIN weights w ON w.id = u.price_version_id AND w.premiums = coalesce(u.premiums, '[]') AND w.done = jsonb_array_length(w.premiums)
        AND ${PROMPT_TOKENS} > w.above AND (w.up_to IS NULL OR ${PROMPT_TOKENS} <= w.up_to),
      LATERAL (SELECT ceil((${sum.join(' + ')}) * ${MICRO}) AS charge) c
    WHERE u.kind = 'usage' AND ${days} AND u.charge IS DISTINCT FROM c.charge`;
}

const BOUGHT = `c.kind IN ('subscribe', 'renew', 'auto_recharge')`;

export const RULES = {
  charges: {
    says: 'Each charge is its tokens times the weights and multipliers of its price version, at the tier of its prompt, rounded up',
    table: 'usage_events',
    isByDay: true,
    sql: mispriced,
  },
  corrections: {
    says: 'What left the balance for a request is its charge, whatever an expired hold charged before',
    table: 'usage_events',
    isByDay: true,
    // A final that is booked before the charge it corrects has no counterpart for a moment.
    sql: (days) => `
      SELECT u.rid, sum(u.delta) AS deltas, max(u.charge) AS charge FROM usage_events u WHERE u.kind <> 'withdraw' AND ${days}
      GROUP BY u.day, u.rid HAVING bool_or(u.seq = 0) AND bool_or(u.kind = 'usage') AND sum(u.delta) <> max(u.charge)`,
  },
  expired_holds: {
    says: 'An expired hold is charged once, before its final, what it had used and never less than nothing',
    table: 'usage_events',
    isByDay: true,
    sql: (days) =>
      `SELECT u.rid, u.seq, u.delta FROM usage_events u WHERE u.kind = 'reap' AND ${days} AND (u.seq <> 0 OR u.delta < 0 OR u.charge IS NOT NULL)`,
  },
  purchases: {
    says: 'Each lot cost its tokens at the price in force when it was bought, and its wallet paid that',
    table: 'token_lots',
    isByDay: false,
    sql: () => `
      SELECT l.id AS lot_id, l.cost, b.cost AS priced, coalesce(e.paid, 0) AS paid FROM token_lots l
        JOIN token_credits c ON c.subscription_id = l.subscription_id AND c.seq = l.credit_seq AND ${BOUGHT}
        JOIN subscriptions s ON s.id = l.subscription_id
        LEFT JOIN LATERAL (
          SELECT ceil(l.tokens::numeric * p.price_per_million * ${MICRO}) AS cost FROM price_versions p
          WHERE p.model_id = s.model_id AND p.effective_at <= l.created_at ORDER BY p.effective_at DESC, p.id DESC LIMIT 1
        ) b ON true
        LEFT JOIN LATERAL (
          SELECT -e.amount AS paid FROM ledger_transactions t JOIN ledger_entries e ON e.transaction_id = t.id AND e.amount < 0
          WHERE t.kind = c.kind AND t.reference = 'credit:' || l.subscription_id || ':' || l.credit_seq
        ) e ON true
      WHERE l.tokens <> c.delta OR l.cost IS DISTINCT FROM b.cost OR l.cost <> coalesce(e.paid, 0)`,
  },
  refunds: {
    says: 'Each lot refunded its cost times what was withdrawn of its tokens, rounded down, and its wallet got that',
    table: 'token_lots',
    isByDay: false,
    sql: () => `
      SELECT l.subscription_id, l.id AS lot_id, l.refunded, div(l.cost::numeric * l.withdrawn, l.tokens) AS due FROM token_lots l
      WHERE l.refunded <> div(l.cost::numeric * l.withdrawn, l.tokens)
      UNION ALL
      SELECT l.subscription_id, NULL, l.refunded, coalesce(r.paid, 0) FROM (SELECT subscription_id, sum(refunded) AS refunded FROM token_lots GROUP BY 1) l
        LEFT JOIN (
          SELECT w.subscription_id, sum(e.amount) AS paid FROM token_entries w
            JOIN ledger_transactions t ON t.kind = 'refund' AND t.reference = w.reference
            JOIN ledger_entries e ON e.transaction_id = t.id AND e.amount > 0
          WHERE w.kind = 'withdrawal' GROUP BY 1
        ) r USING (subscription_id)
      WHERE l.refunded <> coalesce(r.paid, 0)`,
  },
} as const satisfies Record<string, Rule>;

/** Selects the first day of usage that is not before, or is after, the parameter. */
export const USAGE_DAY = {
  from: 'SELECT min(day)::text AS day FROM usage_events WHERE day >= $1::date',
  after: 'SELECT min(day)::text AS day FROM usage_events WHERE day > $1::date',
} as const;

/** The reconciliation compares these balances with Redis, and repairs a difference that two readings agree on. */
export const LIVE_BALANCES = {
  name: 'live_balances',
  says: 'Each balance in Redis is what the ledger determines',
} as const;
