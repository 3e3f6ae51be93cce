import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { StandstillWatch } from './standstill-watch.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Returns the seconds until a worker that takes no jobs is replaced, null when it is not within two minutes; `answers` gives the answer to each look, one each 5 s. */
async function replacedAfter(
  answers: (look: number) => Promise<number>,
  { running = 0 } = {},
): Promise<number | null> {
  let [looks, replaced] = [0, false];
  const watch = new StandstillWatch({
    concurrency: 4,
    waiting: () => answers((looks += 1)),
    onStandstill: () => void (replaced = true),
  });
  const hang = watch.watched(() => new Promise<void>(() => undefined));
  for (let job = 0; job < running; job += 1) void hang();
  for (let seconds = 1; seconds <= 120; seconds += 1) {
    await jest.advanceTimersByTimeAsync(1_000);
    if (!replaced) continue;
    watch.end();
    return seconds;
  }
  watch.end();
  return null;
}

const one = (): Promise<number> => Promise.resolve(1);
const lost = (): Promise<number> => new Promise(() => undefined);

test('a worker that takes none of the jobs that wait is replaced after half a minute', async () => {
  expect(await replacedAfter(one)).toBe(30);
  expect(await replacedAfter(one, { running: 3 })).toBe(30);
});

test('each look whose answer is lost delays that by 5 s, and no more', async () => {
  expect(await replacedAfter((look) => (look === 3 ? lost() : one()))).toBe(35);
  expect(await replacedAfter((look) => (look <= 4 ? lost() : one()))).toBe(50);
});

test('a worker that has nothing to take, no place for it, or no Redis is left alone', async () => {
  expect(await replacedAfter(() => Promise.resolve(0))).toBeNull();
  expect(await replacedAfter(one, { running: 4 })).toBeNull();
  expect(await replacedAfter(() => Promise.reject(new Error('away')))).toBeNull();
});
