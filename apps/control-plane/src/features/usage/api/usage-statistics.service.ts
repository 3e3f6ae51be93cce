import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { AccountScope } from '../../../platform/access/account-scope.ts';
import type { Caller } from '../../../platform/access/caller.ts';
import { toSafeInteger } from '../../../platform/database/columns.ts';
import { invalidField, Refusal } from '../../../platform/http/refusal.ts';
import { BUCKET_COUNT, percentile } from '../histogram.ts';
import type { StatisticsRow, UsageStatistics } from './usage-answers.ts';
import type { Group, StatisticsQuery } from './usage.dto.ts';

const HOUR_MS = 3_600_000;
const INTERVAL_MS = { hour: HOUR_MS, day: 24 * HOUR_MS };
const DEFAULT_INTERVALS = { hour: 24, day: 30 };
/** More points than any chart shows; finer questions are asked of a shorter period. */
const INTERVALS_MAX = 1_500;
const ROWS_MAX = 20_000;

const SOURCES = {
  hour: { table: 'usage_rollups', column: 'hour', at: 'hour' },
  day: { table: 'usage_rollups_daily', column: 'day', at: "day::timestamp AT TIME ZONE 'UTC'" },
};
const SUMS = ['requests', 'errors', 'input_tokens', 'cache_read_tokens', 'cache_write_tokens', 'output_tokens', 'charge'] as const;
const GROUPINGS: Record<Group, { column: string; name: string }> = {
  model: { column: 'model_id', name: '(SELECT name FROM models WHERE id = s.group_id)' },
  key: { column: 'key_id', name: '(SELECT name FROM api_keys WHERE id = s.group_id)' },
  user: { column: 'user_id', name: '(SELECT username FROM users WHERE id = s.group_id)' },
  upstream: { column: 'upstream_id', name: '(SELECT name FROM upstreams WHERE id = s.group_id)' },
};

const sum = z.string().transform(toSafeInteger);
/** As one text: a list of lists of numbers costs more to read than to sum. */
const histogram = z.string().transform((text) => text.split(',').map(toSafeInteger));
const statisticsRow = z.object({
  at: z.date(), group_id: z.number().nullable(), group_name: z.string().nullable(),
  requests: sum, errors: sum, input_tokens: sum, cache_read_tokens: sum, cache_write_tokens: sum, output_tokens: sum, charge: sum,
  durations: histogram, first_tokens: histogram,
});

/** Sums over roll-ups, which the worker keeps equal to the raw rows in the transaction that books them. Hours and days are UTC. */
@Injectable()
export class UsageStatisticsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly scope: AccountScope,
  ) {}

  async read(caller: Caller, query: StatisticsQuery): Promise<UsageStatistics> {
    const userId = await this.scope.resolveList(caller, query.user_id);
    const period = periodOf(query);
    const { sql, parameters } = selectStatistics({ ...query, ...period, userId });
    const rows: unknown[] = await this.dataSource.query(sql, parameters);
    if (rows.length > ROWS_MAX) throw new Refusal('statistics_range', { detail: `More than ${ROWS_MAX} rows; ask for a shorter period, a longer interval or fewer groups` });
    const data = rows.map((row) => toStatisticsRow(row, query.group_by));
    return { from: period.from.toISOString(), to: period.to.toISOString(), interval: query.interval, group_by: query.group_by ?? null, data };
  }
}

/** Whole hours or days (UTC): the roll-ups know nothing finer. */
function periodOf({ from, to, interval }: StatisticsQuery): { from: Date; to: Date } {
  const lengthMs = INTERVAL_MS[interval];
  const end = Math.ceil((to?.getTime() ?? Date.now()) / lengthMs) * lengthMs;
  const start = Math.floor((from?.getTime() ?? end - DEFAULT_INTERVALS[interval] * lengthMs) / lengthMs) * lengthMs;
  if (start >= end) throw invalidField('from', 'must lie before to');
  if (end - start > INTERVALS_MAX * lengthMs) throw new Refusal('statistics_range', { detail: `At most ${INTERVALS_MAX} intervals at a time` });
  return { from: new Date(start), to: new Date(end) };
}

function selectStatistics(query: StatisticsQuery & { from: Date; to: Date; userId: number | undefined }): { sql: string; parameters: unknown[] } {
  const parameters: unknown[] = [];
  const bind = (value: unknown): string => `$${parameters.push(value)}`;
  const { table, column, at } = SOURCES[query.interval];
  const conditions = [
    `${column} >= ${bind(query.from)}::timestamptz AND ${column} < ${bind(query.to)}::timestamptz`,
    ...(query.userId === undefined ? [] : [`user_id = ${bind(query.userId)}`]),
    ...(['key_id', 'model_id', 'upstream_id'] as const).flatMap((name) => (query[name] === undefined ? [] : [`${name} = ${bind(query[name])}`])),
  ];
  const grouping = query.group_by && GROUPINGS[query.group_by];
  const sql = `
    SELECT s.*, ${grouping ? grouping.name : 'NULL::text'} AS group_name FROM (
      SELECT ${at} AS at, ${grouping ? grouping.column : 'NULL::int'} AS group_id,
        ${SUMS.map((name) => `sum(${name})::bigint AS ${name}`).join(', ')},
        ${summedBuckets('duration_histogram')} AS durations, ${summedBuckets('first_token_histogram')} AS first_tokens
      FROM ${table} WHERE ${conditions.join(' AND ')}
      GROUP BY 1, 2
    ) s WHERE s.requests > 0 OR s.charge > 0 ORDER BY s.at, s.group_id LIMIT ${ROWS_MAX + 1}`;
  return { sql, parameters };
}

function summedBuckets(column: string): string {
  return `concat_ws(',', ${Array.from({ length: BUCKET_COUNT }, (_, index) => `sum(${column}[${index + 1}])`).join(', ')})`;
}

function toStatisticsRow(raw: unknown, group: Group | undefined): StatisticsRow {
  const row = statisticsRow.parse(raw);
  return {
    at: row.at.toISOString(),
    ...(group && { [`${group}_id`]: row.group_id === 0 ? null : row.group_id, [group]: row.group_name }),
    requests: row.requests,
    errors: row.errors,
    input_tokens: row.input_tokens,
    cache_read_tokens: row.cache_read_tokens,
    cache_write_tokens: row.cache_write_tokens,
    output_tokens: row.output_tokens,
    charge: row.charge,
    duration_ms: percentiles(row.durations),
    first_token_ms: percentiles(row.first_tokens),
  };
}

/** Null where nothing was timed. */
function percentiles(counts: number[]) {
  return { p50: percentile(counts, 0.5), p90: percentile(counts, 0.9), p95: percentile(counts, 0.95), p99: percentile(counts, 0.99) };
}
