import { setTimeout as delay } from 'node:timers/promises';

/** Bounds a pause of a fiftieth of what was waited already: a long wait costs little, and ends at most 2 % late. */
const PAUSE_MIN_MS = 10;
const PAUSE_MAX_MS = 100;

const pauseAfter = (startedAt: number): Promise<void> =>
  delay(Math.min(PAUSE_MAX_MS, Math.max(PAUSE_MIN_MS, (Date.now() - startedAt) / 50)));

type There<T> = Exclude<T, false | null | undefined>;

/** Asks until the answer is neither false, null nor undefined, and returns it; throws with `what` when there is none within `withinMs`. */
export async function until<T>(
  what: string,
  ask: () => Promise<T> | T,
  withinMs = 20_000,
): Promise<There<T>> {
  const answer = await answerWithin(withinMs, ask);
  if (answer === undefined) throw new Error(`waited ${withinMs} ms without success for: ${what}`);
  return answer;
}

/** Waits like `until`, for what is measured or judged afterwards: undefined when there is no answer within `withinMs`. */
export async function answerWithin<T>(
  withinMs: number,
  ask: () => Promise<T> | T,
): Promise<There<T> | undefined> {
  for (const startedAt = Date.now(); ; await pauseAfter(startedAt)) {
    const answer = await ask();
    if (isThere(answer)) return answer;
    if (Date.now() >= startedAt + withinMs) return undefined;
  }
}

function isThere<T>(answer: T): answer is There<T> {
  return answer !== false && answer !== null && answer !== undefined;
}

/** Repeats an assertion until it holds; throws its last failure when it does not within `withinMs`. */
export async function eventually<T>(assertion: () => Promise<T>, withinMs = 15_000): Promise<T> {
  for (const startedAt = Date.now(); ; await pauseAfter(startedAt)) {
    try {
      return await assertion();
    } catch (error) {
      if (Date.now() >= startedAt + withinMs) throw error;
    }
  }
}

/** Passes real time that a test needs, where no event ends the wait: `_reason` says why. A wait for a state is `until`. */
export function letPass(ms: number, _reason: string): Promise<void> {
  return delay(ms);
}
