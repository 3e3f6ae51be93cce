import { USAGE_PERIODS } from '../../../platform/database/usage-periods.ts';
import { MEASURE_OF } from '../recent-sums.sql.ts';
import { joinPrices, pricesOf, spendOf } from '../spend.sql.ts';
import { GROUPINGS, ownersOfKeys } from './request-names.ts';
import { isAboutRequesters, type Period } from './select-statistics.ts';
import { TOP_MEASURES, type TopMeasure, type TopQuery } from './usage.dto.ts';

export type TopQuestion = TopQuery & Period & { userId: number | undefined };

/** Holds prices by period and model: the answer of `selectPrices`. */
export interface Prices {
  at: readonly string[];
  models: readonly number[];
  prices: readonly number[];
}

/** Names the days that `usage_recent` sums, the last one not included. */
export interface RecentSpan {
  since: string;
  until: string;
}

const sumOf = (measure: TopMeasure): string =>
  measure === 'spend' ? spendOf('prices.price') : `coalesce(sum(${MEASURE_OF[measure]}), 0)`;
const ALL_SUMS = TOP_MEASURES.map((name) => `${sumOf(name)} AS ${name}`).join(', ');

export function selectPrices({ interval, from, to }: TopQuestion) {
  const period = USAGE_PERIODS[interval];
  const within = `u.${period.column} >= $1::timestamptz AND u.${period.column} < $2::timestamptz`;
  return { sql: pricesOf(period, within), parameters: [from, to] };
}

/**
 * Selects rows of the greatest groups, then one without an id: the sums of all, and how many groups there are. One measure is summed for every group, the others
 * only for those that are shown; what concerns all accounts together is summed in the totals. Where the question covers the days of `usage_recent`, these
 * sums stand for them while the groups are ordered.
 */
export function selectTop(
  query: TopQuestion,
  { at, models, prices }: Prices,
  recent: RecentSpan | undefined,
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
  const rows = `FROM ${source} u ${query.by === 'spend' ? priced : ''} WHERE ${narrowed}`;
  const others =
    recent && coversRecent(query, recent)
      ? ` AND (u.day < ${bind(recent.since)}::date OR u.day >= ${bind(recent.until)}::date)`
      : undefined;
  const shown = 'ARRAY(SELECT id FROM ranked)';
  // Requests of keys are found among those of their owners, which have an index.
  const ofShown = `u.${id} = ANY(${shown})${id === 'key_id' ? ` AND u.user_id = ANY(${ownersOfKeys(shown)})` : ''}`;
  const sql = `
    WITH ranked AS MATERIALIZED (
      SELECT id, count(*) OVER ()::int AS groups
      FROM (SELECT id, sum(measure) AS measure FROM (${measuresOf(query, rows, others)}) m GROUP BY 1) s
      WHERE measure > 0 ORDER BY measure DESC, id LIMIT ${bind(query.limit)}),
    sums AS (SELECT u.${id} AS id, ${ALL_SUMS} FROM ${source} u ${priced} WHERE ${narrowed} AND ${ofShown} GROUP BY 1)
    (SELECT s.*, named.${name} AS name, 1 AS groups FROM sums s LEFT JOIN ${table} named ON named.id = s.id ORDER BY s.${query.by} DESC, s.id)
    UNION ALL
    SELECT NULL, ${ALL_SUMS}, NULL, coalesce((SELECT max(groups) FROM ranked), 0) FROM ${isOfOne ? rollups : totals} u ${priced} WHERE ${narrowed}`;
  return { sql, parameters };
}

/** Selects the measures. `others` is the condition for the days that `usage_recent` does not sum, where it replaces the rest. */
function measuresOf({ group_by, by }: TopQuestion, rows: string, others?: string): string {
  const each = `SELECT u.${GROUPINGS[group_by].column} AS id, ${MEASURE_OF[by]} AS measure ${rows}`;
  return others === undefined
    ? each
    : `${each}${others} UNION ALL SELECT id, ${by} FROM usage_recent WHERE kind = '${group_by}'`;
}

function coversRecent(
  { interval, group_by, userId, model_id, from, to }: TopQuestion,
  { since, until }: RecentSpan,
): boolean {
  return (
    interval === 'day' &&
    isAboutRequesters(group_by) &&
    userId === undefined &&
    model_id === undefined &&
    from.getTime() <= Date.parse(since) &&
    to.getTime() >= Date.parse(until)
  );
}
