import { expect, test } from '@jest/globals';
import { CHARGED_CLASSES, type TokenField } from '../../api/tables.ts';
import type { StatisticsRow, UsageStatistics } from '../../api/usage.ts';
import { countsOf, latencyOf, sumOf, timesOf, totalsOf } from './course.ts';

const NO_TOKENS = Object.fromEntries(CHARGED_CLASSES.map(({ field }) => [field, 0])) as Record<
  TokenField,
  number
>;
const NONE = { p50: null, p90: null, p95: null, p99: null };

function row(hour: number, model_id: number | null, charge: number): StatisticsRow {
  return {
    at: `2026-01-01T0${hour}:00:00.000Z`,
    model_id,
    model: model_id === null ? null : `model-${model_id}`,
    requests: 1,
    errors: 0,
    ...NO_TOKENS,
    input_tokens: charge,
    charge,
    duration_ms: { ...NONE, p50: charge, p95: charge * 2 },
    first_token_ms: NONE,
  };
}

function statistics(data: StatisticsRow[], group_by: 'model' | null = 'model'): UsageStatistics {
  return {
    from: '2026-01-01T00:00:00.000Z',
    to: '2026-01-01T04:00:00.000Z',
    interval: 'hour',
    group_by,
    data,
  };
}

const look = {
  measure: 'charge' as const,
  nameOf: ({ name }: { name: string | null }) => name ?? 'deleted',
  other: 'others',
};

test('hours without requests are on the axis, as zero', () => {
  const course = countsOf(statistics([row(1, 1, 10), row(3, 1, 5)]), look);
  expect(course.times).toHaveLength(4);
  expect(course.series[0]?.values).toEqual([0, 10, 0, 5]);
});

test('what is drawn adds up to what is listed, however many groups there are', () => {
  const rows = Array.from({ length: 12 }, (_, index) => row(index % 4, index + 1, 2 ** index));
  const course = countsOf(statistics(rows), look);
  expect(course.series).toHaveLength(8);
  expect(course.series.at(-1)).toMatchObject({ name: 'others', color: 'other' });
  const drawn = course.series
    .flatMap(({ values }) => values)
    .reduce<number>((a, b) => a + (b ?? 0), 0);
  expect(drawn).toBe(2 ** 12 - 1);
  expect(sumOf(totalsOf(statistics(rows))).charge).toBe(2 ** 12 - 1);
});

test('a deleted group keeps its part', () => {
  const course = countsOf(statistics([row(0, null, 7)]), look);
  expect(course.series).toEqual([{ name: 'deleted', color: 'other', values: [7, 0, 0, 0] }]);
});

test('latency of an hour without requests is a gap, not zero', () => {
  const course = latencyOf(statistics([row(2, null, 100)], null), {
    measure: 'duration_ms',
    names: { p50: 'p50', p95: 'p95' },
  });
  expect(course.series.map(({ values }) => values)).toEqual([
    [null, null, 100, null],
    [null, null, 200, null],
  ]);
});

test('an empty range has no intervals and no series', () => {
  expect(timesOf({ ...statistics([]), to: '2026-01-01T00:00:00.000Z' })).toEqual([]);
  expect(countsOf(statistics([]), look).series).toEqual([]);
});
