export const BUDGET_PERIODS = ['day', 'week', 'month', 'year', 'rolling', 'none'] as const;
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

/** The period of a budget without periods: it counts from the beginning of time. */
export const NO_PERIOD = 0;
const STEPS = {
  day: { days: 1 },
  week: { weeks: 1 },
  month: { months: 1 },
  year: { years: 1 },
} as const;
const NANOSECONDS = 1_000_000_000n;

/**
 * Unix seconds at which `count` consecutive periods begin, the first of them the one that `atMs` is in. A day begins at its first instant in the zone, which is not
 * midnight where a clock change skips midnight. Weeks begin on Mondays. Time zones move by whole seconds, so every period does.
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

/** Returns the day before the one that `atMs` is in, in Unix milliseconds. */
export function dayBefore(timeZone: string, atMs: number): { fromMs: number; toMs: number } {
  const today = Temporal.Instant.fromEpochMilliseconds(atMs)
    .toZonedDateTimeISO(timeZone)
    .toPlainDate();
  const startMs = (date: Temporal.PlainDate): number =>
    1_000 * secondsOf(date.toZonedDateTime(timeZone));
  return { fromMs: startMs(today.subtract({ days: 1 })), toMs: startMs(today) };
}

/** The start of the period that `seconds` is in; the first period also has what was before it. */
export function periodAt(starts: readonly number[], seconds: number): number {
  return starts.findLast((start) => start <= seconds) ?? starts[0] ?? NO_PERIOD;
}

/** Buckets of a rolling budget's window, as `budget-windows.lua` counts. */
export const WINDOW_BUCKETS = 60;

interface Counted {
  starts: readonly number[];
  /** Null for a budget that is not rolling. A bucket of its window has as many seconds. */
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

/** Returns the second at which what was used in a bucket leaves the window. */
export function leavesAt(bucket: number, windowMinutes: number): number {
  return bucket - (bucket % windowMinutes) + WINDOW_BUCKETS * windowMinutes;
}

/** Returns whether the runtime knows this IANA zone. */
export function isTimeZone(name: string): boolean {
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name);
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
