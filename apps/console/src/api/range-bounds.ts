const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const LENGTHS = {
  '15m': 15 * MINUTE,
  '1h': HOUR,
  '6h': 6 * HOUR,
  '24h': DAY,
  '7d': 7 * DAY,
  '30d': 30 * DAY,
  '90d': 90 * DAY,
} as const;
export type RangeName = keyof typeof LENGTHS;
export type Interval = 'minute' | 'hour' | 'day';
/** Lists the intervals of charts, from the finest: beyond `upTo` their bars are too thin to point at, and what is older than `keptFor` is not there any more. */
const INTERVALS = [
  { name: 'minute', length: MINUTE, upTo: 6 * HOUR, keptFor: 2 * DAY },
  { name: 'hour', length: HOUR, upTo: 3 * DAY, keptFor: 90 * DAY },
  { name: 'day', length: DAY, upTo: Infinity, keptFor: Infinity },
] as const;
export const STEP_MS: Readonly<Record<Interval, number>> = {
  minute: MINUTE,
  hour: HOUR,
  day: DAY,
};

/** Describes the question of a page for a range of time. Ranges have names, so that the question stays the same while time passes. */
export type TimeRange =
  | { name: RangeName; interval: Interval }
  | { name: 'custom'; from: string; to: string; interval: Interval };

/** Returns the times of the range at the moment it is asked for. */
export function boundsOf(range: TimeRange): { from: string; to?: string } {
  if (range.name === 'custom') return { from: range.from, to: range.to };
  const now = Date.now();
  const length = STEP_MS[range.interval];
  // The range has whole intervals, the running one among them: 24 bars for 24 hours.
  const start = Math.floor(now / length) * length + length - LENGTHS[range.name];
  return { from: new Date(start).toISOString() };
}

export function namedRange(name: RangeName): TimeRange {
  return { name, interval: intervalOf(Date.now() - LENGTHS[name], LENGTHS[name]) };
}

export function customRange(from: string, to: string): TimeRange {
  const start = Date.parse(from);
  return { name: 'custom', from, to, interval: intervalOf(start, Date.parse(to) - start) };
}

/** Returns the finest interval whose bars can be pointed at, and that is kept from the start of the range: an interval may begin before it. */
function intervalOf(start: number, length: number): Interval {
  const fits = INTERVALS.find(
    (each) => length <= each.upTo && start - each.length >= Date.now() - each.keptFor,
  );
  return fits?.name ?? 'day';
}

/** Returns the time of equal length before a range, for comparison. Within an hour it stays the same question. */
export function rangeBefore(range: TimeRange): TimeRange {
  const { from, to } = boundsOf(range);
  const start = Date.parse(from);
  const length = range.name === 'custom' ? Date.parse(to ?? from) - start : LENGTHS[range.name];
  return customRange(new Date(start - length).toISOString(), from);
}
