import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CALENDAR } from '../../testing/calendar-zones.ts';
import { isTimeZone, periodAt, periodStarts, type BudgetPeriod } from './calendar.ts';

const DAY = 86_400;
const { zones: ZONES, from: FROM, days: DAYS } = CALENDAR;

/** Returns the date of an instant as the platform's formatter writes it, which shares no code with the calendar. */
function dateIn(timeZone: string): (seconds: number) => string {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' });
  return (seconds) => format.format(seconds * 1_000);
}

/** Returns the name of the period that a date is in. */
const NAMES: Record<Exclude<BudgetPeriod, 'none' | 'rolling'>, (date: string) => string> = {
  day: (date) => date,
  week: (date) => String(Math.floor((Date.parse(date) / 1_000 / DAY + 3) / 7)),
  month: (date) => date.slice(0, 7),
  year: (date) => date.slice(0, 4),
};
const PERIODS = Object.keys(NAMES) as (keyof typeof NAMES)[];

describe.each(ZONES)('in %s', (timeZone) => {
  const date = dateIn(timeZone);

  test('every day of 400 begins where its date does, and no second of it is in another', () => {
    const starts = periodStarts({ period: 'day', timeZone }, { atMs: FROM * 1_000, count: DAYS });
    expect(starts.length).toBe(DAYS);
    for (const [index, start] of starts.entries()) {
      expect(date(start)).not.toBe(date(start - 1));
      const next = starts[index + 1];
      if (next !== undefined) expect(date(next - 1)).toBe(date(start));
    }
  });

  test('each instant is in the period that its date names, and the next begins one later', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...PERIODS),
        fc.integer({ min: FROM, max: FROM + DAYS * DAY }),
        (period, at) => {
          const nameAt = (seconds: number): string => NAMES[period](date(seconds));
          const [start = 0, next = 0, ...rest] = periodStarts(
            { period, timeZone },
            { atMs: at * 1_000 + 999, count: 33 },
          );
          expect(rest.length).toBe(31);
          expect(start).toBeLessThanOrEqual(at);
          expect(next).toBeGreaterThan(at);
          expect([nameAt(start), nameAt(next - 1)]).toEqual([nameAt(at), nameAt(at)]);
          expect(nameAt(start - 1)).not.toBe(nameAt(at));
          expect(nameAt(next)).not.toBe(nameAt(at));
          expect(periodAt([start, next, ...rest], at)).toBe(start);
        },
      ),
      { numRuns: 40 },
    );
  });
});

test('a budget without periods has one that never ends, and the last known period continues', () => {
  expect(periodStarts({ period: 'none', timeZone: 'UTC' }, { atMs: 1e12, count: 33 })).toEqual([0]);
  expect(periodAt([0], 5)).toBe(0);
  expect(periodAt([100, 200], 1_000_000)).toBe(200);
  expect(periodAt([100, 200], 50)).toBe(100);
});

test.each([
  ['Europe/Berlin', true],
  ['UTC', true],
  ['Europe/Bielefeld', false],
  ['+02:00', false],
  ['2027-01-01T00:00Z[Europe/Berlin]', false],
  ['2027-01-01T00:00+05:30', false],
  ['T00+0530', false],
  ['', false],
])('the zone %j is known: %s', (name, isKnown) => {
  expect(isTimeZone(name)).toBe(isKnown);
});
