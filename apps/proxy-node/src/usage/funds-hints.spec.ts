import { setTimeout as delay } from 'node:timers/promises';
import type { FundsHint, UsageJob } from '@tollgate/contracts';
import { expect, test } from '@jest/globals';
import { FundsHints } from './funds-hints.ts';

const AFTER_COLLECTING_MS = 120;

function hints({ isRefusing = false } = {}) {
  const clock = { now: 0 };
  const jobs: UsageJob[] = [];
  const add = (job: UsageJob): Promise<void> =>
    isRefusing ? Promise.reject(new Error('Redis is away')) : Promise.resolve(void jobs.push(job));
  const reporter = new FundsHints({
    queue: { add, close: () => Promise.resolve() },
    log: { debug: () => undefined },
    now: () => clock.now,
  });
  return { reporter, jobs, clock };
}
const of = (accountId: number, neededTokens = 10): FundsHint => ({
  accountId,
  modelId: 1,
  neededTokens,
});

test('refusals of a moment travel together, each subscription once', async () => {
  const { reporter, jobs } = hints();
  for (const id of [1, 2, 1, 1, 2]) reporter.note(of(id));
  await delay(AFTER_COLLECTING_MS);
  expect(jobs).toEqual([{ events: [], refusedForFunds: [of(1), of(2)] }]);
});

test('a subscription is reported again after a second, not before', async () => {
  const { reporter, jobs, clock } = hints();
  reporter.note(of(1));
  await delay(AFTER_COLLECTING_MS);
  clock.now = 999;
  reporter.note(of(1));
  await delay(AFTER_COLLECTING_MS);
  expect(jobs).toHaveLength(1);
  clock.now = 1_000;
  reporter.note(of(1));
  await delay(AFTER_COLLECTING_MS);
  expect(jobs).toHaveLength(2);
});

test('one that needs more is reported at once', async () => {
  const { reporter, jobs } = hints();
  reporter.note(of(1));
  reporter.note(of(1, 20));
  reporter.note(of(1, 15));
  await delay(AFTER_COLLECTING_MS);
  reporter.note(of(1, 19));
  await delay(AFTER_COLLECTING_MS);
  expect(jobs).toEqual([{ events: [], refusedForFunds: [of(1, 20)] }]);
});

test('a storm of refusals stays one job of bounded size', async () => {
  const { reporter, jobs } = hints();
  for (let id = 1; id <= 50_000; id += 1) reporter.note(of(id));
  await delay(AFTER_COLLECTING_MS);
  expect(jobs.map((job) => job.refusedForFunds?.length)).toEqual([200]);
});

test('a queue that takes nothing is no reason to fail', async () => {
  const { reporter } = hints({ isRefusing: true });
  reporter.note(of(1));
  await delay(AFTER_COLLECTING_MS);
  reporter.note(of(2));
  await delay(AFTER_COLLECTING_MS);
});
