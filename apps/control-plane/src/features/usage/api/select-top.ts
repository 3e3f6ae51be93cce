import { RATED_TOKENS } from '../../../platform/database/summed-columns.ts';
import { USAGE_PERIODS } from '../../../platform/database/usage-periods.ts';
import { joinPrices, pricesOf, spendOf } from '../spend.sql.ts';
import { GROUPINGS, ownersOfKeys } from './request-names.ts';
import { isAboutRequesters, type Period } from './select-statistics.ts';
import { TOP_MEASURES, type TopMeasure, type TopQuery } from './usage.dto.ts';

export type TopQuestion = TopQuery & Period & { userId: number | undefined };

/** Prices by period and model: the answer of `selectPrices`. */
export interface Prices {
  at: readonly string[];
  models: readonly number[];
  prices: readonly number[];
}

/** Sums are exact up to 2^53. Spend is in micro-units. */
const SUMS: Readonly<Record<TopMeasure, string>> = {
  tokens: `coalesce(sum((${RATED_TOKENS})::float8), 0)`,
  requests: 'coalesce(sum(u.requests::float8), 0)',
  errors: 'coalesce(sum(u.errors::float8), 0)',
  charge: 'coalesce(sum(u.charge::float8), 0)',
  spend: spendOf('prices.price'),
};
const ALL_SUMS = TOP_MEASURES.map((name) => `${SUMS[name]} AS ${name}`).join(', ');

export function selectPrices({ interval, from, to }: TopQuestion) {
  const period = USAGE_PERIODS[interval];
  const within = `u.${period.column} >= $1::timestamptz AND u.${period.column} < $2::timestamptz`;
  return { sql: pricesOf(period, within), parameters: [from, to] };
}

/**
 * Rows of the greatest groups, then one without an id: the sums of all, and how many groups there are. One measure is summed for every group, the others
 * only for those that are shown; what concerns all accounts together is summed in the totals.
 */
export function selectTop(
  query: TopQuestion,
  { at, models, prices }: Prices,
): { sql: string; parameters: unknown[] } {
  const parameters: unknown[] = [];
  const bind = (value: unknown): string => `$${parameters.push(value)}`;
  const period = USAGE_PERIODS[query.interval];
  const { column, totals, rollups } = period;
  const priced = joinPrices(period, [bind(at), bind(models), bind(prices)]);
  const isOfOne = query.userId !== undefined;
  const source = isAboutRequesters(query.group_by) || isOfOne ? rollups : totals;
  const narrowed = [
    `u.${column} >= ${bind(query.from)}::timestamptz AND u.${column} < ${bind(query.to)}::timestamptz`,
    ...(isOfOne ? [`u.user_id = ${bind(query.userId)}`] : []),
    ...(query.model_id === undefined ? [] : [`u.model_id = ${bind(query.model_id)}`]),
  ].join(' AND ');
  const { column: id, table, name } = GROUPINGS[query.group_by];
  const shown = 'ARRAY(SELECT id FROM ranked)';
  // Requests of keys are found among those of their owners, which have an index.
  const ofShown = `u.${id} = ANY(${shown})${id === 'key_id' ? ` AND u.user_id = ANY(${ownersOfKeys(shown)})` : ''}`;
  const sql = `
    WITH ranked AS MATERIALIZED (
      SELECT id, count(*) OVER ()::int AS groups
      FROM (SELECT u.${id} AS id, ${SUMS[query.by]} AS measure FROM ${source} u ${query.by === 'spend' ? priced : ''} WHERE ${narrowed} GROUP BY 1) s
      WHERE measure > 0 ORDER BY measure DESC, id LIMIT ${bind(query.limit)}),
    sums AS (SELECT u.${id} AS id, ${ALL_SUMS} FROM ${source} u ${priced} WHERE ${narrowed} AND ${ofShown} GROUP BY 1)
    (SELECT s.*, named.${name} AS name, 1 AS groups FROM sums s LEFT JOIN ${table} named ON named.id = s.id ORDER BY s.${query.by} DESC, s.id)
    UNION ALL
    SELECT NULL, ${ALL_SUMS}, NULL, coalesce((SELECT max(groups) FROM ranked), 0) FROM ${isOfOne ? rollups : totals} u ${priced} WHERE ${narrowed}`;
  return { sql, parameters };
}
