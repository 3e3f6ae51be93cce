const BUCKETS = 24;
/** As they were when the totals were added: the migration that adds them runs before later columns exist. */
const FIRST_SUMS = [
  'requests',
  'errors',
  'charge',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'output_tokens',
];

/** Keeps usage from being booked until the transaction ends, so that what is filled in it misses nothing. Reading continues. */
export const LOCK_ROLLUPS = 'LOCK TABLE usage_rollups, usage_rollups_daily IN SHARE MODE;';

/** Of the migration that adds the totals. */
export const FILL_USAGE_TOTALS = fillUsageTotals(FIRST_SUMS);

/** Fills the totals, which are empty, from the roll-ups: the same sums without user and key. */
export function fillUsageTotals(sums: readonly string[]): string {
  return `
  ${fill({ totals: 'usage_totals', rollups: 'usage_rollups', period: 'hour' }, sums)}
  ${fill({ totals: 'usage_totals_daily', rollups: 'usage_rollups_daily', period: 'day' }, sums)}`;
}

function fill(
  { totals, rollups, period }: { totals: string; rollups: string; period: string },
  sums: readonly string[],
): string {
  return `
  INSERT INTO ${totals} (${period}, model_id, upstream_id, ${sums.join(', ')}, duration_histogram, first_token_histogram)
  SELECT ${period}, model_id, upstream_id, ${sums.map((name) => `sum(${name})`).join(', ')}, ${summed('duration_histogram')}, ${summed('first_token_histogram')}
  FROM ${rollups} GROUP BY 1, 2, 3;`;
}

function summed(column: string): string {
  return `ARRAY[${Array.from({ length: BUCKETS }, (_, index) => `coalesce(sum(${column}[${index + 1}]), 0)::bigint`).join(', ')}]`;
}
