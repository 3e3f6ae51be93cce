import { Injectable, type StreamableFile } from '@nestjs/common';
import { CHARGED_TOKEN_FIELDS, mapFields } from '@tollgate/contracts';
import { DataSource } from 'typeorm';
import { AccountScope } from '../../../platform/access/account-scope.ts';
import type { Caller } from '../../../platform/access/caller.ts';
import { csvFile } from '../../../platform/http/csv.ts';
import { invalidField, Refusal } from '../../../platform/http/refusal.ts';
import { BUCKET_COUNT, parseHistogram, percentiles } from '../histogram.ts';
import { GROUPINGS } from './request-names.ts';
import { refuseSuppliers } from './refuse-suppliers.ts';
import { STATISTICS_SUMS, statisticsCells, statisticsColumns } from './statistics-csv.ts';
import type { Percentiles, StatisticsRow, UsageStatistics } from './usage-answers.ts';
import { FROM_BEFORE_TO, type Group, type StatisticsQuery } from './usage.dto.ts';

const HOUR_MS = 3_600_000;
const INTERVAL_MS = { hour: HOUR_MS, day: 24 * HOUR_MS };
const DEFAULT_INTERVALS = { hour: 24, day: 30 };
/** More points than any chart shows; finer questions are asked of a shorter period. */
const INTERVALS_MAX = 1_500;
const ROWS_MAX = 20_000;
const SLICES_MAX = 3;

interface Period {
  from: Date;
  to: Date;
}

type Question = StatisticsQuery & Period & { userId: number | undefined };

/** Questions that concern no user and no key are answered from the totals, whose size does not grow with the number of accounts. */
const SOURCES = {
  hour: { column: 'hour', at: 'hour', totals: 'usage_totals', rollups: 'usage_rollups' },
  day: {
    column: 'day',
    at: "day::timestamp AT TIME ZONE 'UTC'",
    totals: 'usage_totals_daily',
    rollups: 'usage_rollups_daily',
  },
};
const SHARES = [0.5, 0.9, 0.95, 0.99] as const;

type SummedRow = Record<(typeof STATISTICS_SUMS)[number], number> & {
  /** Begin of the hour or day, Unix ms: thousands of timestamps cost more to read than to write. */
  at_ms: number;
  group_id: number | null;
  group_name: string | null;
  /** Buckets of the histograms, comma-separated: a list of numbers costs more to read than to sum. */
  durations: string;
  first_tokens: string;
};

/** Sums over roll-ups, which the worker keeps equal to the raw rows in the transaction that books them. Hours and days are UTC. */
@Injectable()
export class UsageStatisticsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly scope: AccountScope,
  ) {}

  async read(caller: Caller, query: StatisticsQuery): Promise<UsageStatistics | StreamableFile> {
    const userId = await this.scope.resolveList(caller, query.user_id);
    refuseSuppliers(caller, query, ['upstream_id']);
    if (query.group_by === 'upstream') refuseSuppliers(caller, query, ['group_by']);
    const period = periodOf(query);
    const rows = await this.rowsOf({ ...query, ...period, userId });
    if (rows.length > ROWS_MAX)
      throw new Refusal('statistics_range', {
        detail: `More than ${ROWS_MAX} rows; ask for a shorter period, a longer interval or fewer groups`,
      });
    const data = rows.map((row) => toStatisticsRow(row, query.group_by));
    if (query.format === 'csv')
      return csvFile(
        'usage-statistics',
        statisticsColumns(query.group_by),
        data.map((row) => statisticsCells(row, query.group_by)),
      );
    return {
      from: period.from.toISOString(),
      to: period.to.toISOString(),
      interval: query.interval,
      group_by: query.group_by ?? null,
      data,
    };
  }

  /** More than `ROWS_MAX` when there are more. Each slice may bring its share of them; where they lie too unevenly for that, the period is summed as a whole. */
  private async rowsOf(question: Question): Promise<unknown[]> {
    const slices = slicesOf(question);
    const share = Math.floor(ROWS_MAX / slices.length);
    const parts = await Promise.all(
      slices.map((slice) => this.sums({ ...question, ...slice }, share + 1)),
    );
    const rows = parts.flat();
    const isWhole = parts.every((part) => part.length <= share);
    return isWhole || rows.length > ROWS_MAX ? rows : this.sums(question, ROWS_MAX + 1);
  }

  private sums(question: Question, rowsMax: number): Promise<unknown[]> {
    const { sql, parameters } = selectStatistics(question, rowsMax);
    return this.dataSource.query(sql, parameters);
  }
}

/** Whole hours or days (UTC): the roll-ups know nothing finer. */
function periodOf({ from, to, interval }: StatisticsQuery): Period {
  const lengthMs = INTERVAL_MS[interval];
  const end = Math.ceil((to?.getTime() ?? Date.now()) / lengthMs) * lengthMs;
  const start =
    Math.floor((from?.getTime() ?? end - DEFAULT_INTERVALS[interval] * lengthMs) / lengthMs) *
    lengthMs;
  if (start >= end) throw invalidField('from', FROM_BEFORE_TO);
  if (end - start > INTERVALS_MAX * lengthMs)
    throw new Refusal('statistics_range', {
      detail: `At most ${INTERVALS_MAX} intervals at a time`,
    });
  return { from: new Date(start), to: new Date(end) };
}

/** Sums parts of the period side by side where the answer may hold thousands of rows. An hour or day is in one of them. One account's question takes one connection. */
function slicesOf({
  from,
  to,
  interval,
  group_by: group,
  userId,
  key_id: keyId,
}: Question): Period[] {
  const lengthMs = INTERVAL_MS[interval];
  const intervals = (to.getTime() - from.getTime()) / lengthMs;
  const isAboutAll = isAboutRequesters(group) && userId === undefined && keyId === undefined;
  const slices = isAboutAll ? Math.min(SLICES_MAX, intervals) : 1;
  const cutAt = (slice: number): Date =>
    new Date(from.getTime() + Math.floor((intervals * slice) / slices) * lengthMs);
  return Array.from({ length: slices }, (_, slice) => ({
    from: cutAt(slice),
    to: cutAt(slice + 1),
  }));
}

function isAboutRequesters(group: Group | undefined): boolean {
  return group === 'user' || group === 'key';
}

function selectStatistics(
  query: Question,
  rowsMax: number,
): { sql: string; parameters: unknown[] } {
  const parameters: unknown[] = [];
  const bind = (value: unknown): string => `$${parameters.push(value)}`;
  const { column, at, totals, rollups } = SOURCES[query.interval];
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

/** Exact up to 2^53, as all that JSON can tell, and several times cheaper than PostgreSQL's sum of bigint, which is a numeric. */
function exactSum(expression: string): string {
  return `sum(${expression}::float8)`;
}

function summedBuckets(column: string): string {
  return `concat_ws(',', ${Array.from({ length: BUCKET_COUNT }, (_, index) => `${exactSum(`${column}[${index + 1}]`)}::bigint`).join(', ')})`;
}

/** Thousands of rows are read at once: this is what a schema would check, at a tenth of its cost. */
function isSummedRow(row: unknown): row is SummedRow {
  if (typeof row !== 'object' || row === null) return false;
  const value = row as Record<keyof SummedRow, unknown>;
  return (
    Number.isSafeInteger(value.at_ms) &&
    (value.group_id === null || typeof value.group_id === 'number') &&
    (value.group_name === null || typeof value.group_name === 'string') &&
    typeof value.durations === 'string' &&
    typeof value.first_tokens === 'string' &&
    STATISTICS_SUMS.every((name) => Number.isSafeInteger(value[name]))
  );
}

function toStatisticsRow(row: unknown, group: Group | undefined): StatisticsRow {
  if (!isSummedRow(row)) throw new TypeError('PostgreSQL answered something else than sums');
  return {
    at: new Date(row.at_ms).toISOString(),
    ...(group && {
      [`${group}_id`]: row.group_id === 0 ? null : row.group_id,
      [group]: row.group_name,
    }),
    requests: row.requests,
    errors: row.errors,
    ...mapFields(CHARGED_TOKEN_FIELDS, row, (count) => count),
    charge: row.charge,
    duration_ms: toPercentiles(row.durations),
    first_token_ms: toPercentiles(row.first_tokens),
  };
}

/** Null where nothing was timed. */
function toPercentiles(buckets: string): Percentiles {
  const [p50 = null, p90 = null, p95 = null, p99 = null] = percentiles(
    parseHistogram(buckets),
    SHARES,
  );
  return { p50, p90, p95, p99 };
}
