import { expect, test } from '@jest/globals';
import type { OpenHold } from '../journal/open-hold.ts';
import { ManualTime } from '../testing/manual-time.ts';
import type { HoldHandle } from '../usage/usage-recorder.ts';
import { BackgroundRuns } from './background-runs.ts';

const LIFE_MS = 60_000;

/** Returns when a run without an upstream is looked at, in milliseconds since it began. */
async function looksOf(pollMs: number, withinMs: number): Promise<number[]> {
  const time = new ManualTime();
  const looks: number[] = [];
  const runs = new BackgroundRuns({
    calls: {
      whole: () => Promise.reject(new Error('it has no upstream')),
      stream: () => Promise.reject(new Error('it has no upstream')),
    },
    marks: {
      set: () => Promise.resolve(),
      read: () => Promise.resolve(null),
      cancelled: () => Promise.resolve(),
      remove: () => Promise.resolve(),
    },
    generatedTokens: () => 0,
    asAnswered: (hold) => hold,
    trust: { note: () => undefined },
    upstreamById: () => {
      looks.push(time.nowMs);
      return undefined;
    },
    onFinal: () => undefined,
    node: 'node-1:0',
    lifeMs: LIFE_MS,
    pollMs,
    log: { warn: () => undefined, info: () => undefined },
    now: time.now,
    timers: time.timers,
  });
  const background = {
    bounds: { outputTokens: 100 },
    upstreamId: 1,
    responseId: 'resp_1',
    untilMs: LIFE_MS,
  };
  const hold = { rid: 'r', accountId: 7, background } as unknown as OpenHold;
  runs.take({
    hold,
    handle: { countAtLeast: () => undefined, onStop: () => undefined } as unknown as HoldHandle,
  });
  await time.pass(withinMs);
  runs.close();
  return looks;
}

test('a run is looked at no later than BACKGROUND_POLL_MS after it began, and as often from then on', async () => {
  expect(await looksOf(200, 1_000)).toEqual([200, 400, 600, 800, 1_000]);
});

test('the pauses between two looks grow from one second to BACKGROUND_POLL_MS', async () => {
  expect(await looksOf(2_000, 8_500)).toEqual([1_000, 2_500, 4_500, 6_500, 8_500]);
});
