import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { Metrics } from '../../../platform/metrics/metrics.ts';
import { finalOf, readOf, REQUESTED, RID, WITHDRAWAL } from '../../../testing/finals-under-test.ts';
import { BookedFigures } from './booked-figures.ts';

const NOW_MS = 1_800_000_000_000;

let metrics: Metrics;
let figures: BookedFigures;
beforeEach(() => {
  jest.spyOn(Date, 'now').mockReturnValue(NOW_MS);
  metrics = new Metrics();
  figures = new BookedFigures(metrics);
});
afterEach(() => void jest.restoreAllMocks());

/** Returns the figures of settlement, by name. */
async function shown(): Promise<Record<string, string>> {
  const lines = (await metrics.text()).split('\n');
  const own = lines.filter((line) => /^tollgate_(?:usage|charged|settlement)/.test(line));
  return Object.fromEntries(own.map((line) => line.split(' ', 2) as [string, string]));
}
const endedAgo = (ms: number, charge = 70) =>
  readOf(finalOf({ charge, started_at: NOW_MS - ms - 130, duration_ms: 130 }));

test('events are counted by kind, and of usage the charge', async () => {
  const reap = readOf({ kind: 'reap', ...REQUESTED });
  figures.note([endedAgo(0, 70), endedAgo(0, 5), reap, readOf(WITHDRAWAL)]);
  figures.note([reap]);
  expect(await shown()).toMatchObject({
    'tollgate_usage_events_booked_total{kind="usage"}': '2',
    'tollgate_usage_events_booked_total{kind="reap"}': '2',
    'tollgate_usage_events_booked_total{kind="withdraw"}': '1',
    tollgate_charged_tokens_booked_total: '75',
    tollgate_settlement_lag_seconds_count: '2',
  });
});

test('the lag is the time since a request ended, in seconds, and never negative', async () => {
  figures.note([endedAgo(40_000), endedAgo(-500)]);
  expect(await shown()).toMatchObject({
    tollgate_settlement_lag_seconds_sum: '40',
    'tollgate_settlement_lag_seconds_bucket{le="0.1"}': '1',
    'tollgate_settlement_lag_seconds_bucket{le="30"}': '1',
    'tollgate_settlement_lag_seconds_bucket{le="60"}': '2',
  });
});

test('lags are counted by bounds from a tenth of a second to a day', async () => {
  const bounds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 86_400];
  figures.note(bounds.map((seconds) => endedAgo(seconds * 1_000)));
  const text = await shown();
  expect(
    bounds.map((_, n) => Object.values(text).filter((value) => value === String(n + 1)).length),
  ).not.toContain(0);
  const counts = Object.entries(text).flatMap(([name, value]) => {
    const [, bound] = /_bucket\{le="([^"]+)"/.exec(name) ?? [];
    return bound === undefined || bound === '+Inf' ? [] : [[Number(bound), Number(value)]];
  });
  expect(counts).toEqual(bounds.map((bound, n) => [bound, n + 1]));
});

test('a lag names its request, and its trace where one is kept', async () => {
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  figures.note([readOf(finalOf({ started_at: NOW_MS, traceparent }))]);
  expect(await metrics.text()).toContain(
    `request_id="${RID}",trace_id="${'a'.repeat(32)}",span_id="${'b'.repeat(16)}"`,
  );
});
