import { USAGE_PERIODS } from '../../../platform/database/usage-periods.ts';
import { bucketsText } from '../histogram.ts';
import { GROUPINGS } from './request-names.ts';
import { STATISTICS_SUMS } from './statistics-csv.ts';
import type { Group, StatisticsQuery } from './usage.dto.ts';

export interface Period {
  from: Date;
  to: Date;
}

export type StatisticsQuestion = StatisticsQuery & Period & { userId: number | undefined };

export function isAboutRequesters(group: Group | undefined): boolean {
  return group === 'user' || group === 'key';
}

export function selectStatistics(
  query: StatisticsQuestion,
  rowsMax: number,
): { sql: string; parameters: unknown[] } {
  const parameters: unknown[] = [];
  const bind = (value: unknown): string => `$${parameters.push(value)}`;
  const { column, type, totals, rollups } = USAGE_PERIODS[query.interval];
  const at = type === 'date' ? `${column}::timestamp AT TIME ZONE 'UTC'` : column;
  // The totals answer questions without a user or key. Their size does not grow with the number of accounts.
  const source =
    isAboutRequesters(query.group_by) || query.userId !== undefined || query.key_id !== undefined
      ? rollups
      : totals;
  const conditions = [
    `${column} >= ${bind(query.from)}::timestamptz AND ${column} < ${bind(query.to)}::timestamptz`,
    ...(query.userId === undefined ? [] : [`user_id = ${bind(query.userId)}`]),
    ...(['key_id', 'model_id', 'upstream_id'] as const).flatMap((name) =>
      query[name] === undefined ? [] : [`${name} = ${bind(query[name])}`],
    ),
  ];
  const grouping = query.group_by && GROUPINGS[query.group_by];
  const sql = `
    SELECT s.*, ${grouping ? `named.${grouping.name}` : 'NULL::text'} AS group_name FROM (
      SELECT extract(epoch FROM ${at})::float8 * 1000 AS at_ms, ${grouping ? grouping.column : 'NULL::int'} AS group_id,
        ${STATISTICS_SUMS.map((name) => `${exactSum(name)} AS ${name}`).join(', ')},
        ${summedBuckets('duration_histogram')} AS durations, ${summedBuckets('first_token_histogram')} AS first_tokens
      FROM ${source} WHERE ${conditions.join(' AND ')}
      GROUP BY ${column}, group_id
    ) s ${grouping ? `LEFT JOIN ${grouping.table} named ON named.id = s.group_id` : ''}
    WHERE s.requests > 0 OR s.charge > 0 ORDER BY s.at_ms, s.group_id LIMIT ${rowsMax}`;
  return { sql, parameters };
}

/** Sums are exact up to 2^53, the largest exact integer in JSON, and several times cheaper than PostgreSQL's numeric sum of bigint. */
function exactSum(expression: string): string {
  return `coalesce(sum(${expression}::float8), 0)`;
}

function summedBuckets(column: string): string {
  return bucketsText((bucket) => `sum(${column}[${bucket}]::float8)::bigint`);
}
