const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
export const LENGTHS = { '24h': DAY, '7d': 7 * DAY, '30d': 30 * DAY, '90d': 90 * DAY } as const;
export type RangeName = keyof typeof LENGTHS;
/** Beyond this, bars of an hour are too thin to point at. */
const HOURLY_UP_TO = 3 * DAY;

/** Describes the question of a page for a range of time. Ranges have names, so that the question stays the same while time passes. */
export type TimeRange =
  | { name: RangeName; interval: 'hour' | 'day' }
  | { name: 'custom'; from: string; to: string; interval: 'hour' | 'day' };

/** The range in times, at the moment it is asked for. */
export function boundsOf(range: TimeRange): { from: string; to?: string } {
  if (range.name === 'custom') return { from: range.from, to: range.to };
  const now = Date.now();
  const length = range.interval === 'hour' ? HOUR : DAY;
  // Whole intervals, the running one among them: 24 bars for 24 hours.
  const start = Math.floor(now / length) * length + length - LENGTHS[range.name];
  return { from: new Date(start).toISOString() };
}

export function intervalOf(length: number): 'hour' | 'day' {
  return length <= HOURLY_UP_TO ? 'hour' : 'day';
}

/** The time of equal length before a range, for comparison. Within an hour it stays the same question. */
export function rangeBefore(range: TimeRange): TimeRange {
  const { from, to } = boundsOf(range);
  const start = Date.parse(from);
  const length = range.name === 'custom' ? Date.parse(to ?? from) - start : LENGTHS[range.name];
  return {
    name: 'custom',
    from: new Date(start - length).toISOString(),
    to: from,
    interval: range.interval,
  };
}
