import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { NodeReport } from '@tollgate/contracts';
import { NodeWatch, SILENCE_MS } from './node-watch.ts';

const NOON_MS = Date.UTC(2026, 0, 1, 12);
const HOUR_MS = 3_600_000;

function reportAt(reportedAtMs: number): NodeReport {
  return {
    name: 'node-1',
    worker: 0,
    instance: INSTANCE,
    url: null,
    state: 'online',
    version: 1,
    checksum: '',
    applied_at: 0,
    refused: null,
    started_at: 0,
    reported_at: reportedAtMs,
    in_flight: 0,
    unacknowledged: 0,
    software: 'tollgate',
  } as NodeReport;
}
const INSTANCE = randomUUID();

test('a wall clock that is set forward or back neither ends a worker nor keeps a silent one alive', () => {
  const clock = { monotonicMs: 0, unixMs: NOON_MS };
  const watch = new NodeWatch([], {
    monotonic: () => clock.monotonicMs,
    unix: () => clock.unixMs,
  });
  const isLive = (): boolean => watch.workersOf('node-1').some((worker) => worker.isLive);
  watch.observe([reportAt(NOON_MS)]);
  watch.observe([reportAt(NOON_MS + 1)]);
  for (const jumpMs of [HOUR_MS, -HOUR_MS]) {
    clock.unixMs = NOON_MS + jumpMs;
    expect(isLive()).toBe(true);
  }
  clock.monotonicMs += SILENCE_MS;
  expect(isLive()).toBe(false);
});

test('a report found at the first look is as old as it says, and never younger than now', () => {
  const clock = { monotonic: () => 50_000, unix: () => NOON_MS };
  const firstSeen = (reportedAtMs: number): boolean | undefined => {
    const watch = new NodeWatch([], clock);
    watch.observe([reportAt(reportedAtMs)]);
    return watch.workersOf('node-1')[0]?.isLive;
  };
  expect(firstSeen(NOON_MS - SILENCE_MS)).toBe(false);
  expect(firstSeen(NOON_MS - 1_000)).toBe(true);
  expect(firstSeen(NOON_MS + HOUR_MS)).toBe(true);
});
