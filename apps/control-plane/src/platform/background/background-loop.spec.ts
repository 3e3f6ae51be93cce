import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { BackgroundLoop } from './background-loop.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

function loopEvery(everyMs: number, begun: number[]): BackgroundLoop {
  const work = (): Promise<void> => Promise.resolve(void begun.push(performance.now()));
  return new BackgroundLoop({ everyMs, retryMs: 200, work, onFailing: () => undefined });
}

test('loops that began apart share their moments, so that an idle process is woken once for all of them', async () => {
  const [one, other]: [number[], number[]] = [[], []];
  const loops = [loopEvery(1_000, one), loopEvery(2_000, other)];
  loops[0]?.start();
  await jest.advanceTimersByTimeAsync(70);
  loops[1]?.start();
  await jest.advanceTimersByTimeAsync(8_100);
  await Promise.all(loops.map((loop) => loop.stop()));
  expect(one).toHaveLength(9);
  expect(other).toHaveLength(5);
  expect(one).toEqual(expect.arrayContaining(other.slice(1)));
});

test('loops of one moment begin in one turn, and one that was stopped does not', async () => {
  const begun: number[] = [];
  const timers = jest.spyOn(globalThis, 'setTimeout');
  const loops = [1, 2, 3].map(() => loopEvery(1_000, begun));
  for (const loop of loops) loop.start();
  await jest.advanceTimersByTimeAsync(10);
  await loops[0]?.stop();
  timers.mockClear();
  await jest.advanceTimersByTimeAsync(1_000);
  expect(begun).toHaveLength(5);
  expect(timers).toHaveBeenCalledTimes(1);
  await Promise.all(loops.map((loop) => loop.stop()));
  timers.mockRestore();
  await jest.advanceTimersByTimeAsync(5_000);
  expect(begun).toHaveLength(5);
});

test('a loop that looks several times a second keeps its own time', async () => {
  const begun: number[] = [];
  const loop = loopEvery(200, begun);
  await jest.advanceTimersByTimeAsync(70);
  loop.start();
  await jest.advanceTimersByTimeAsync(1_000);
  await loop.stop();
  expect(begun.map((at) => at - (begun[0] ?? 0))).toEqual([0, 200, 400, 600, 800, 1_000]);
});
