export const BUDGET_PERIODS = ['day', 'week', 'month', 'year', 'rolling', 'none'] as const;
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

/** Is the period of a budget without periods, which counts from the beginning of time. */
export const NO_PERIOD = 0;
const STEPS = {
  day: { days: 1 },
  week: { weeks: 1 },
  month: { months: 1 },
  year: { years: 1 },
} as const;
const NANOSECONDS = 1_000_000_000n;

/**
 * Returns the starts, in Unix seconds, of `count` consecutive periods, of which the first contains `atMs`. A day begins at its first instant in the
 * zone, which is not midnight where a clock change skips midnight. Weeks begin on Mondays. Zones change by whole seconds, so every start is a whole
 * second.
 */
export function periodStarts(
  { period, timeZone }: { period: BudgetPeriod; timeZone: string },
  { atMs, count }: { atMs: number; count: number },
): number[] {
  if (period === 'none' || period === 'rolling') return [NO_PERIOD];
  const now = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(timeZone);
  let date = firstDayOf(now.toPlainDate(), period);
  const starts: number[] = [];
  for (let index = 0; index < count; index += 1) {
    starts.push(secondsOf(date.toZonedDateTime(timeZone)));
    date = date.add(STEPS[period]);
  }
  return starts;
}

/** Returns the day before the one that contains `atMs`, in Unix milliseconds. */
export function dayBefore(timeZone: string, atMs: number): { fromMs: number; toMs: number } {
  const today = Temporal.Instant.fromEpochMilliseconds(atMs)
    .toZonedDateTimeISO(timeZone)
    .toPlainDate();
  const startMs = (date: Temporal.PlainDate): number =>
    1_000 * secondsOf(date.toZonedDateTime(timeZone));
  return { fromMs: startMs(today.subtract({ days: 1 })), toMs: startMs(today) };
}

/** Returns the start of the period that contains `seconds`; earlier times belong to the first period. */
export function periodAt(starts: readonly number[], seconds: number): number {
  return starts.findLast((start) => start <= seconds) ?? starts[0] ?? NO_PERIOD;
}

/** The window of a rolling budget has this many buckets, as in `budget-windows.lua`. */
export const WINDOW_BUCKETS = 60;

interface Counted {
  starts: readonly number[];
  /** Is null for a budget that is not rolling. A bucket of the window lasts this many seconds. */
  windowMinutes: number | null;
}

/** Returns the start of the period, or of the bucket, in which a request of that second is admitted. */
export function admittedIn({ starts, windowMinutes }: Counted, seconds: number): number {
  const start = periodAt(starts, seconds);
  return windowMinutes === null ? start : Math.max(start, seconds - (seconds % windowMinutes));
}

/** Returns the start of the first period that counts at that second: the current one, or the oldest bucket of the window. */
export function countedFrom({ starts, windowMinutes }: Counted, seconds: number): number {
  const start = periodAt(starts, seconds);
  if (windowMinutes === null) return start;
  const bucket = seconds - (seconds % windowMinutes);
  return Math.max(start, bucket - (WINDOW_BUCKETS - 1) * windowMinutes);
}

/** Returns the second at which the use of a bucket leaves the window. */
export function leavesAt(bucket: number, windowMinutes: number): number {
  return bucket - (bucket % windowMinutes) + WINDOW_BUCKETS * windowMinutes;
}

/** Returns whether the runtime knows this IANA zone. Temporal alone would take a time with a zone or an offset for one, too. */
export function isTimeZone(name: string): boolean {
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name);
    new Intl.DateTimeFormat('en', { timeZone: name });
    return !/^[+-]/.test(name);
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

function firstDayOf(date: Temporal.PlainDate, period: keyof typeof STEPS): Temporal.PlainDate {
  switch (period) {
    case 'day':
      return date;
    case 'week':
      return date.subtract({ days: date.dayOfWeek - 1 });
    case 'month':
      return date.with({ day: 1 });
    case 'year':
      return date.with({ month: 1, day: 1 });
  }
}

function secondsOf(start: Temporal.ZonedDateTime): number {
  return Number(start.startOfDay().epochNanoseconds / NANOSECONDS);
}
