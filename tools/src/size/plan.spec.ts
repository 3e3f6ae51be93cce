import { describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { ROOT } from '../checkout.ts';
import { describePlan } from './describe-plan.ts';
import { readMeasured } from './measured.ts';
import { planFor, type Load } from './plan.ts';

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
};
const LOAD: Load = {
  rps: 1_000,
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
  postgresCoresMax: 64,
};

describe('the plan', () => {
  test('is the arithmetic of docs/sizing.md', () => {
    expect(planFor(LOAD, MEASURED)).toEqual({
      // 1,000 x (0.5 x 500 + 0.5 x (700 + 100 x 50)) us
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
        walBytesPerSecond: 2_000_000,
        tableBytesPerDay: 86_400_000_000,
        tableBytesKept: 8_640_000_000_000,
      },
      networkBytesPerSecond: 60_000_000,
      cells: 1,
      notes: [],
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

  test('says what is divided when one server is not enough', () => {
    const notes = planFor({ ...LOAD, rps: 1_000_000 }, MEASURED).notes.join(' ');
    expect(notes).toContain('Redis Cluster');
    expect(notes).toContain('SHARDS');
    expect(notes).toContain('installations');
  });
});

test('the example in docs/sizing.md is what the command prints with the figures that are kept', () => {
  const load = { ...LOAD, ...DEFAULTS, rps: 5_000, streamShare: 0.7 };
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
  expect(JSON.parse(size('--json', '--rps', '10'))).toMatchObject({ controlPlanes: 2, cells: 1 });
});
