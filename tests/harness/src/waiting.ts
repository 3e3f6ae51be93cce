import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 10;

/** Polls until it is so; throws with `what` when it does not come to pass in time. */
export async function until(
  what: string,
  isReached: () => Promise<boolean> | boolean,
  withinMs = 20_000,
): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await isReached())) {
    if (Date.now() >= deadline)
      throw new Error(`waited ${withinMs} ms without success for: ${what}`);
    await delay(POLL_MS);
  }
}

/** Real time that a test needs, where no event ends the wait: `_reason` says why. A wait for a state is `until`. */
export function letPass(ms: number, _reason: string): Promise<void> {
  return delay(ms);
}
