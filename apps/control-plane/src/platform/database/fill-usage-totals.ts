const BUCKETS = 24;
const SUMS = [
  'requests',
  'errors',
  'charge',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'output_tokens',
];

/** Keeps usage from being booked until the transaction ends, so that what is filled in it misses nothing. Reading goes on. */
export const LOCK_ROLLUPS = 'LOCK TABLE usage_rollups, usage_rollups_daily IN SHARE MODE;';

/** The totals, which are empty, from the roll-ups: the same without user and key. */
export const FILL_USAGE_TOTALS = `
  ${fill({ totals: 'usage_totals', rollups: 'usage_rollups', period: 'hour' })}
  ${fill({ totals: 'usage_totals_daily', rollups: 'usage_rollups_daily', period: 'day' })}`;

function fill({
  totals,
  rollups,
  period,
}: {
  totals: string;
  rollups: string;
  period: string;
}): string {
  return `
  INSERT INTO ${totals} (${period}, model_id, upstream_id, ${SUMS.join(', ')}, duration_histogram, first_token_histogram)
  SELECT ${period}, model_id, upstream_id, ${SUMS.map((name) => `sum(${name})`).join(', ')}, ${summed('duration_histogram')}, ${summed('first_token_histogram')}
  FROM ${rollups} GROUP BY 1, 2, 3;`;
}

function summed(column: string): string {
  return `ARRAY[${Array.from({ length: BUCKETS }, (_, index) => `coalesce(sum(${column}[${index + 1}]), 0)::bigint`).join(', ')}]`;
}
