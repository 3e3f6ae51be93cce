import { RATED_TOKENS } from '../../../platform/database/summed-columns.ts';

/** Asks how far past requests would have used up an amount. */
export interface BudgetedQuestion {
  userId: number;
  /** Holds the keys whose usage counts; null for all keys. */
  keyIds: readonly number[] | null;
  modelIds: readonly number[];
  unit: 'charged_tokens' | 'tokens' | 'money' | 'requests';
  amount: number;
  from: Date;
  to: Date;
  /** Is null when all requests count together; otherwise the window's minutes. */
  windowMinutes: number | null;
  priceIds: readonly number[];
  /** Holds the prices in micro-units, in the order of `priceIds`. */
  pricesPerMillion: readonly string[];
}

const CHARGED = 'greatest(0, coalesce(u.charge, u.delta))';
const UNITS: Readonly<Record<BudgetedQuestion['unit'], string>> = {
  charged_tokens: CHARGED,
  tokens: `CASE WHEN u.kind = 'usage' THEN ${RATED_TOKENS} ELSE ${CHARGED} END`,
  money: `ceil(${CHARGED}::numeric * coalesce(p.per_million, 0) / 1000000)`,
  requests: '1',
};

/** Selects one row: the requests, their use, the largest use within a window, and the requests that would have exceeded the amount. */
export function selectBudgeted(question: BudgetedQuestion): { sql: string; parameters: unknown[] } {
  const { windowMinutes } = question;
  const counted =
    windowMinutes === null
      ? 'ORDER BY started_at, rid ROWS UNBOUNDED PRECEDING'
      : 'ORDER BY started_at RANGE BETWEEN make_interval(mins => $9) PRECEDING AND CURRENT ROW';
  const sql = `
    SELECT count(*)::int AS requests, coalesce(sum(units), 0)::text AS used, coalesce(max(together), 0)::text AS most, count(*) FILTER (WHERE together > $4)::int AS refused
    FROM (SELECT units, sum(units) OVER (${counted}) AS together FROM (
      SELECT u.started_at, u.rid, ${UNITS[question.unit]} AS units
      FROM usage_events u LEFT JOIN unnest($7::int[], $8::bigint[]) AS p(id, per_million) ON p.id = u.price_version_id
      WHERE u.user_id = $1 AND ($2::int[] IS NULL OR u.key_id = ANY($2)) AND u.model_id = ANY($3::int[])
        AND u.started_at >= $5 AND u.started_at < $6 AND u.day BETWEEN ($5::timestamptz AT TIME ZONE 'UTC')::date AND ($6::timestamptz AT TIME ZONE 'UTC')::date
        AND u.kind <> 'withdraw' AND NOT (u.kind = 'reap' AND EXISTS (SELECT FROM usage_events c WHERE c.day = u.day AND c.rid = u.rid AND c.seq = 1))) counted) summed`;
  return {
    sql,
    parameters: [
      ...[question.userId, question.keyIds, question.modelIds, question.amount],
      ...[question.from, question.to, question.priceIds, question.pricesPerMillion],
      ...(windowMinutes === null ? [] : [windowMinutes]),
    ],
  };
}
