import type { FundsHint, UsageJob } from '@tollgate/contracts';
import { expect, test } from '@jest/globals';
import { ManualTime } from '../testing/manual-time.ts';
import { FundsHints } from './funds-hints.ts';

/** Is a little longer than refusals are collected. */
const COLLECTED_MS = 60;

function hints({ isRefusing = false } = {}) {
  const time = new ManualTime();
  const jobs: UsageJob[] = [];
  const add = (job: UsageJob): Promise<void> => {
    jobs.push(job);
    return isRefusing ? Promise.reject(new Error('Redis is away')) : Promise.resolve();
  };
  const reporter = new FundsHints({
    queue: { add, close: () => Promise.resolve() },
    log: { debug: () => undefined },
    now: time.now,
    timers: time.timers,
  });
  return { reporter, jobs, time };
}
const of = (accountId: number, neededTokens = 10): FundsHint => ({
  accountId,
  modelId: 1,
  neededTokens,
});

test('refusals of a moment travel together, each subscription once', async () => {
  const { reporter, jobs, time } = hints();
  for (const id of [1, 2, 1, 1, 2]) reporter.note(of(id));
  await time.pass(COLLECTED_MS);
  expect(jobs).toEqual([{ events: [], refusedForFunds: [of(1), of(2)] }]);
});

test('a subscription is reported again after a second, not before', async () => {
  const { reporter, jobs, time } = hints();
  reporter.note(of(1));
  await time.pass(999);
  reporter.note(of(1));
  await time.pass(COLLECTED_MS);
  expect(jobs).toHaveLength(1);
  reporter.note(of(1));
  await time.pass(COLLECTED_MS);
  expect(jobs).toHaveLength(2);
});

test('one that needs more is reported at once', async () => {
  const { reporter, jobs, time } = hints();
  reporter.note(of(1));
  reporter.note(of(1, 20));
  reporter.note(of(1, 15));
  await time.pass(COLLECTED_MS);
  reporter.note(of(1, 19));
  await time.pass(COLLECTED_MS);
  expect(jobs).toEqual([{ events: [], refusedForFunds: [of(1, 20)] }]);
});

test('a storm of refusals stays one job of bounded size', async () => {
  const { reporter, jobs, time } = hints();
  for (let id = 1; id <= 50_000; id += 1) reporter.note(of(id));
  await time.pass(COLLECTED_MS);
  expect(jobs.map((job) => job.refusedForFunds?.length)).toEqual([200]);
});

test('a queue that takes nothing is asked again with the next refusal, and fails nothing', async () => {
  const { reporter, jobs, time } = hints({ isRefusing: true });
  reporter.note(of(1));
  await time.pass(COLLECTED_MS);
  reporter.note(of(2));
  await time.pass(COLLECTED_MS);
  expect(jobs.map((job) => job.refusedForFunds)).toEqual([[of(1)], [of(2)]]);
});
