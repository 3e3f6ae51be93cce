import { describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { ROOT } from '../checkout.ts';
import { describePlan } from './describe-plan.ts';
import { readMeasured } from './measured.ts';
import type { Load } from './load.ts';
import { planFor } from './plan.ts';

const MEASURED = {
  nodeJsonUs: 500,
  nodeStreamUs: 700,
  nodeEventUs: 50,
  redisJsonUs: 200,
  redisStreamUs: 400,
  controlPlaneUs: 100,
  postgresUs: 150,
  storage: { tableBytes: 1_000, walBytes: 2_000, commits: 0.1 },
  nodeBytes: 150_000_000,
  keyBytes: 250,
  refillSecondsPerKey: 80 / 1e6,
};
const LOAD: Load = {
  rps: 1_000,
  keys: 1_000,
  streamShare: 0.5,
  events: 100,
  streamSeconds: 20,
  jsonSeconds: 4,
  requestBytes: 10_000,
  eventBytes: 200,
  retentionDays: 100,
  utilisation: 0.5,
  workersPerNode: 4,
  shards: 64,
  pool: 20,
  postgresCoresMax: 64,
  diskBytesMax: 64e12,
  walBytesMax: 200e6,
  redisBytesMax: 64e9,
  refillSecondsMax: 120,
  redisConnectionsMax: 10_000,
  postgresConnectionsMax: 100,
};

describe('the plan', () => {
  test('is the arithmetic of docs/sizing.md', () => {
    expect(planFor(LOAD, MEASURED)).toEqual({
      // The cores are 1,000 x (0.5 x 500 + 0.5 x (700 + 100 x 50)) us.
      nodeCores: expect.closeTo(3.1),
      workers: 7,
      nodes: 3,
      openRequests: 12_000,
      memoryBytesPerNode: 4 * 150_000_000 + 6_000 * 130_000,
      redisCores: expect.closeTo(0.3),
      redisPrimaries: 1,
      controlPlaneCores: expect.closeTo(0.1),
      controlPlanes: 2,
      postgresCores: expect.closeTo(0.15),
      storage: {
        commitsPerSecond: 100,
        // The log takes 2,000 bytes a request, and two times 262 bytes for 1 + 24 + 1,440 sums of each key a day
        walBytesPerSecond: expect.closeTo(2_000_000 + (1_465_000 * 524) / 86_400),
        tableBytesPerDay: 86_400_000_000,
        // To this come 5 years of days, 90 days of hours, 2 days of minutes.
        tableBytesKept: 8_640_000_000_000 + (1_825 + 24 * 90 + 1_440 * 2) * 1_000 * 262,
        sumsPerDay: 1_000,
      },
      networkBytesPerSecond: 60_000_000,
      redisBytesPerPrimary: 250_000,
      refillSeconds: expect.closeTo(0.08),
      // The cores are 7 workers x 4 jobs x 36 commands x 8 us, and 7 x 0.5 reports x 10 commands x 8 us.
      queueCores: expect.closeTo(0.008_064),
      fleetCores: expect.closeTo(0.000_28),
      redisConnections: 7 * 5 + 2 * 8,
      postgresConnections: 40,
      cells: 1,
      notes: [],
      refusals: [],
    });
  });

  test('never plans for less CPU than the load uses, and always has a spare node', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.01, max: 1_000_000, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer({ min: 1, max: 64 }),
        (rps, streamShare, workersPerNode) => {
          const plan = planFor({ ...LOAD, rps, streamShare, workersPerNode }, MEASURED);
          expect((plan.nodes - 1) * workersPerNode * LOAD.utilisation).toBeGreaterThanOrEqual(
            plan.nodeCores * (1 - 1e-9),
          );
          expect(plan.redisPrimaries * LOAD.utilisation).toBeGreaterThanOrEqual(
            plan.redisCores * (1 - 1e-9),
          );
          expect(plan.controlPlanes).toBeGreaterThanOrEqual(2);
        },
      ),
    );
  });

  test('has a row of sums for each request where keys are used seldom, and one for each key where they are used often', () => {
    const sumsOf = (keys: number): number | undefined =>
      planFor({ ...LOAD, rps: 1, keys }, MEASURED).storage?.sumsPerDay;
    expect([sumsOf(1_000_000), sumsOf(100)]).toEqual([86_400, 100]);
  });

  test.each([
    ['disk of PostgreSQL', { diskBytesMax: 8e12 }],
    ['write-ahead log', { walBytesMax: 2e6 }],
    ['memory of a Redis primary', { keys: 1e6, redisBytesMax: 400e6 }],
    ['filled again', { keys: 1e6, refillSecondsMax: 79 }],
    ['primary that has the queue', { rps: 100_000 }],
    ['primary that has the fleet', { rps: 5_000, events: 100_000 }],
    ['connections to a Redis primary', { redisConnectionsMax: 50 }],
    ['connections to PostgreSQL', { postgresConnectionsMax: 39 }],
  ] as const)(
    'refuses a load by the %s, and nothing of it while there is enough',
    (what, limit) => {
      const named = (load: Load): string[] =>
        planFor(load, MEASURED).refusals.filter((refusal) => refusal.includes(what));
      expect(named(LOAD)).toEqual([]);
      expect(named({ ...LOAD, ...limit })).toHaveLength(1);
    },
  );

  test('compares a Redis primary of one of several installations with one server', () => {
    const load = { ...LOAD, rps: 10_000, keys: 1_000_000, postgresCoresMax: 1 };
    const { cells, redisBytesPerPrimary } = planFor(load, MEASURED);
    const refusals = (redisBytesMax: number): string[] =>
      planFor({ ...load, redisBytesMax }, MEASURED).refusals.filter((one) =>
        one.includes('memory of a Redis primary'),
      );
    expect(cells).toBeGreaterThan(1);
    expect(refusals(redisBytesPerPrimary / LOAD.utilisation)).toEqual([]);
    expect(refusals(redisBytesPerPrimary / LOAD.utilisation - 1)).toHaveLength(1);
  });

  test('says what is divided when one server is not enough', () => {
    const notes = planFor({ ...LOAD, rps: 1_000_000 }, MEASURED).notes.join(' ');
    expect(notes).toContain('Redis Cluster');
    expect(notes).toContain('SHARDS');
    expect(notes).toContain('installations');
  });
});

test('the example in docs/sizing.md is what the command prints with the figures that are kept', () => {
  const load = { ...LOAD, ...DEFAULTS, keys: 1_000_000, rps: 5_000, streamShare: 0.7 };
  const example = /```text\n([^`]*)\n```/.exec(
    readFileSync(path.join(ROOT, 'docs/sizing.md'), 'utf8'),
  )?.[1];
  expect(describePlan(load, planFor(load, readMeasured()))).toBe(example);
});
const DEFAULTS = {
  events: 200,
  streamSeconds: 20,
  jsonSeconds: 5,
  requestBytes: 20_000,
  eventBytes: 250,
  retentionDays: 400,
};

test('the command refuses a share above 1 and a text, and names the option', () => {
  const size = (...args: string[]): string => {
    try {
      return execFileSync(process.execPath, ['tools/src/cli.ts', 'size', ...args], {
        cwd: ROOT,
        encoding: 'utf8',
        stdio: 'pipe',
      });
    } catch (error) {
      return String(Object(error).stderr);
    }
  };
  expect(size('--stream-share', '1.5')).toContain('--stream-share must be a number from 0 to 1');
  expect(size('--rps', 'many')).toContain('--rps must be');
  expect(size('--profile', 'thin')).toContain('--profile must be dense or sparse');
  expect(JSON.parse(size('--json', '--rps', '10'))).toMatchObject({ controlPlanes: 2, cells: 1 });
});
