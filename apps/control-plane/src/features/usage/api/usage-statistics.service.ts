import { Injectable, type StreamableFile } from '@nestjs/common';
import { CHARGED_TOKEN_FIELDS, mapFields } from '@tollgate/contracts';
import { AccountScope } from '../../../platform/access/account-scope.ts';
import type { Caller } from '../../../platform/access/caller.ts';
import { USAGE_PERIODS } from '../../../platform/database/usage-periods.ts';
import { csvFile } from '../../../platform/http/csv.ts';
import { Refusal } from '../../../platform/http/refusal.ts';
import { parseHistogram, percentiles } from '../histogram.ts';
import { refuseSuppliers } from './refuse-suppliers.ts';
import { isAboutRequesters, type Period, type StatisticsQuestion } from './select-statistics.ts';
import { periodOf } from './statistics-period.ts';
import { STATISTICS_SUMS, statisticsCells, statisticsColumns } from './statistics-csv.ts';
import type { Percentiles, StatisticsRow, UsageStatistics } from './usage-answers.ts';
import { UsageStore } from './usage-store.sql.ts';
import type { Group, StatisticsQuery } from './usage.dto.ts';

const ROWS_MAX = 20_000;
const SLICES_MAX = 3;

const SHARES = [0.5, 0.9, 0.95, 0.99] as const;

type SummedRow = Record<(typeof STATISTICS_SUMS)[number], number> & {
  /** Is the start of the interval in Unix ms; thousands of timestamps cost more to parse than to write. */
  at_ms: number;
  group_id: number | null;
  group_name: string | null;
  /** Holds the buckets of the histograms, comma-separated; a list of numbers costs more to read than to sum. */
  durations: string;
  first_tokens: string;
};

/** Answers sums from the roll-ups, which the worker updates in the transaction that books the usage. Minutes, hours and days are UTC. */
@Injectable()
export class UsageStatisticsService {
  constructor(
    private readonly store: UsageStore,
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

  /**
   * Returns more than `ROWS_MAX` rows when there are more. Each slice may return its share of them; where the rows are distributed too unevenly, the
   * whole period is summed at once.
   */
  private async rowsOf(question: StatisticsQuestion): Promise<unknown[]> {
    const slices = slicesOf(question);
    const share = Math.floor(ROWS_MAX / slices.length);
    const parts = await Promise.all(
      slices.map((slice) => this.store.sums({ ...question, ...slice }, share + 1)),
    );
    const rows = parts.flat();
    const isWhole = parts.every((part) => part.length <= share);
    return isWhole || rows.length > ROWS_MAX ? rows : this.store.sums(question, ROWS_MAX + 1);
  }
}

/**
 * Splits the period into slices that are summed in parallel where the answer may have thousands of rows. An interval is in one slice. The question of
 * one account uses one connection.
 */
function slicesOf({
  from,
  to,
  interval,
  group_by: group,
  userId,
  key_id: keyId,
}: StatisticsQuestion): Period[] {
  const { lengthMs } = USAGE_PERIODS[interval];
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

/** Checks what a schema would check at a tenth of its cost, because thousands of rows are read at once. */
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

/** Returns nulls where nothing was timed. */
function toPercentiles(buckets: string): Percentiles {
  const [p50 = null, p90 = null, p95 = null, p99 = null] = percentiles(
    parseHistogram(buckets),
    SHARES,
  );
  return { p50, p90, p95, p99 };
}
