/**
 * Latency buckets of the roll-ups. Counts add up over any grouping, so percentiles come out of any sum of rows.
 * A bucket holds values up to and including its bound; the last one holds all above. Changing the bounds needs a rebuild of usage_rollups.
 */
const BUCKET_BOUNDS_MS = [
  5, 10, 15, 25, 40, 60, 100, 150, 250, 400, 600, 1_000, 1_500, 2_500, 4_000, 6_000, 10_000, 15_000, 25_000, 40_000, 60_000, 120_000, 300_000,
] as const;
export const BUCKET_COUNT = BUCKET_BOUNDS_MS.length + 1;

export function bucketOf(valueMs: number): number {
  const index = BUCKET_BOUNDS_MS.findIndex((bound) => valueMs <= bound);
  return index === -1 ? BUCKET_BOUNDS_MS.length : index;
}

export function emptyHistogram(): number[] {
  return new Array<number>(BUCKET_COUNT).fill(0);
}

/**
 * The value below which `share` (0..1) of the counted values lie, in ms, by straight line inside its bucket; null when nothing was counted.
 * Values above the last bound answer the last bound: the truth is at least that.
 */
export function percentile(histogram: readonly number[], share: number): number | null {
  const total = histogram.reduce((sum, count) => sum + count, 0);
  if (total <= 0) return null;
  const rank = share * total;
  let below = 0;
  for (const [index, count] of histogram.entries()) {
    if (count > 0 && below + count >= rank) return insideBucket(index, (rank - below) / count);
    below += count;
  }
  return BUCKET_BOUNDS_MS.at(-1) ?? null;
}

function insideBucket(index: number, position: number): number {
  const last = BUCKET_BOUNDS_MS.at(-1) as number;
  const upper = BUCKET_BOUNDS_MS[index] ?? last;
  const lower = index === 0 ? 0 : (BUCKET_BOUNDS_MS[index - 1] ?? last);
  return Math.round(lower + (upper - lower) * position);
}
