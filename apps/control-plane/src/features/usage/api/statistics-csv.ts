import { CHARGED_TOKEN_FIELDS } from '@tollgate/contracts';
import type { CsvCell } from '../../../platform/http/csv.ts';
import type { StatisticsRow } from './usage-answers.ts';
import type { Group } from './usage.dto.ts';

export const STATISTICS_SUMS = ['requests', 'errors', ...CHARGED_TOKEN_FIELDS, 'charge'] as const;
const TIMES = ['duration_ms', 'first_token_ms'] as const;
const PERCENTILES = ['p50', 'p90', 'p95', 'p99'] as const;

/** Names the columns as the fields of the JSON row; a percentile's column is `duration_ms_p50`. */
export function statisticsColumns(group: Group | undefined): string[] {
  return [
    'at',
    ...(group ? [`${group}_id`, group] : []),
    ...STATISTICS_SUMS,
    ...TIMES.flatMap((time) => PERCENTILES.map((share) => `${time}_${share}`)),
  ];
}

/** Returns the cells in the order of `statisticsColumns`. */
export function statisticsCells(row: StatisticsRow, group: Group | undefined): CsvCell[] {
  return [
    row.at,
    ...(group ? [row[`${group}_id`], row[group]] : []),
    ...STATISTICS_SUMS.map((name) => row[name]),
    ...TIMES.flatMap((time) => PERCENTILES.map((share) => row[time][share])),
  ];
}
