/**
 * Lists the upper bounds (inclusive) of the roll-ups' latency buckets; the last bucket holds all larger values. Counts add up over any grouping, so
 * percentiles follow from any sum of rows. Changing the bounds needs a rebuild of usage_rollups.
 */
const BUCKET_BOUNDS_MS = [
  5, 10, 15, 25, 40, 60, 100, 150, 250, 400, 600, 1_000, 1_500, 2_500, 4_000, 6_000, 10_000, 15_000,
  25_000, 40_000, 60_000, 120_000, 300_000,
] as const;
export const BUCKET_COUNT = BUCKET_BOUNDS_MS.length + 1;

export function bucketOf(valueMs: number): number {
  const index = BUCKET_BOUNDS_MS.findIndex((bound) => valueMs <= bound);
  return index === -1 ? BUCKET_BOUNDS_MS.length : index;
}

export function emptyHistogram(): number[] {
  return new Array<number>(BUCKET_COUNT).fill(0);
}

/** Formats the buckets from the first to the last that counted something, as PostgreSQL's array input with subscripts. */
export function histogramLiteral(histogram: readonly number[]): string {
  const first = histogram.findIndex((count) => count !== 0);
  if (first === -1) return '{}';
  const last = histogram.findLastIndex((count) => count !== 0);
  return `[${first + 1}:${last + 1}]={${histogram.slice(first, last + 1).join(',')}}`;
}

/** Returns SQL for the counts of all buckets, comma-separated, as `parseHistogram` reads them. `of` is the SQL of a bucket's count by its subscript. */
export function bucketsText(of: (subscript: number) => string): string {
  return `concat_ws(',', ${Array.from({ length: BUCKET_COUNT }, (_, index) => `coalesce(${of(index + 1)}, 0)`).join(', ')})`;
}

/** Adds histograms bucket by bucket. */
export function sumHistograms(histograms: readonly (readonly number[])[]): number[] {
  return emptyHistogram().map((_, bucket) =>
    histograms.reduce((sum, counts) => sum + (counts[bucket] ?? 0), 0),
  );
}

const COMMA = ','.charCodeAt(0);
const ZERO = '0'.charCodeAt(0);

/** Parses counts that are separated by commas. It reads by character, because a statistic has tens of thousands of these. */
export function parseHistogram(text: string): number[] {
  const histogram = emptyHistogram();
  let bucket = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === COMMA) bucket += 1;
    else histogram[bucket] = (histogram[bucket] ?? 0) * 10 + (code - ZERO);
  }
  return histogram;
}

/**
 * Returns for each share (0 to 1, ascending) the value in ms below which this share of the counted values lies, by linear interpolation in the
 * bucket; nulls when nothing was counted. For a value above the last bound it returns that bound, which the true value exceeds.
 */
export function percentiles(
  histogram: readonly number[],
  shares: readonly number[],
): (number | null)[] {
  let total = 0;
  for (const count of histogram) total += count;
  if (total <= 0) return shares.map(() => null);
  let index = 0;
  let below = 0;
  return shares.map((share) => {
    const rank = share * total;
    for (
      let count = histogram[index] ?? 0;
      index < histogram.length && (count === 0 || below + count < rank);
      count = histogram[index] ?? 0
    ) {
      below += count;
      index += 1;
    }
    const count = histogram[index];
    return count === undefined
      ? (BUCKET_BOUNDS_MS.at(-1) ?? null)
      : insideBucket(index, (rank - below) / count);
  });
}

function insideBucket(index: number, position: number): number {
  const last = BUCKET_BOUNDS_MS.at(-1) as number;
  const upper = BUCKET_BOUNDS_MS[index] ?? last;
  const lower = index === 0 ? 0 : (BUCKET_BOUNDS_MS[index - 1] ?? last);
  return Math.round(lower + (upper - lower) * position);
}
