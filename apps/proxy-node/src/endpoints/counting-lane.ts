import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '../monotonic-ms.ts';
import { Refusal, retryHeaders } from '../refusals.ts';

/** Is more than a coding agent sends at once. */
const WAITING_MAX = 32;
const WAITING_RETRY_MS = 1_000;
/** Bounds the characters of one account that are tokenised in a minute, about a second of CPU; beyond it, counts are estimated from a sample. */
const CHARS_PER_MINUTE = 4 * 2 ** 20;
const SAMPLE_CHARS = 2 ** 14;
const MINUTE_MS = 60_000;
/** Above this number, accounts whose minute is over are removed. */
const BUDGETS_MAX = 1_000;

type Job = () => Promise<void>;

/**
 * Counts tokens one request at a time, accounts in turn, with a pause as long as the work. Counting is free, so it is bounded: it may take half of
 * the process' time, and each account a share of that.
 */
export class CountingLane {
  readonly #waiting = new Map<number, Job[]>();
  readonly #budgets = new Map<number, { sinceMs: number; chars: number }>();
  #isRunning = false;

  /** `count` gets a pause to await between its batches. Throws Refusal when too many requests of the account wait. */
  run<T>(accountId: number, count: (pause: () => Promise<void>) => Promise<T>): Promise<T> {
    const jobs = this.#waiting.get(accountId) ?? [];
    if (jobs.length >= WAITING_MAX) throw tooManyWaiting();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    jobs.push(() => count(restingAsLong()).then(resolve, reject));
    this.#waiting.set(accountId, jobs);
    if (!this.#isRunning) void this.#work();
    return promise;
  }

  /** Returns how many of these characters are tokenised now; the rest counts like them. */
  grant(accountId: number, chars: number): number {
    const nowMs = monotonicMs();
    let budget = this.#budgets.get(accountId);
    if (!budget || nowMs - budget.sinceMs >= MINUTE_MS) {
      budget = { sinceMs: nowMs, chars: 0 };
      this.#forgetOld(nowMs);
      this.#budgets.set(accountId, budget);
    }
    const granted = Math.min(chars, Math.max(SAMPLE_CHARS, CHARS_PER_MINUTE - budget.chars));
    budget.chars += granted;
    return granted;
  }

  async #work(): Promise<void> {
    this.#isRunning = true;
    for (const [accountId, jobs] of this.#waiting) {
      const job = jobs.shift();
      // The account is moved behind all others that wait, or removed: a Map is iterated in insertion order, later insertions included.
      this.#waiting.delete(accountId);
      if (jobs.length > 0) this.#waiting.set(accountId, jobs);
      await job?.();
    }
    this.#isRunning = false;
  }

  #forgetOld(nowMs: number): void {
    if (this.#budgets.size < BUDGETS_MAX) return;
    for (const [accountId, { sinceMs }] of this.#budgets)
      if (nowMs - sinceMs >= MINUTE_MS) this.#budgets.delete(accountId);
  }
}

function restingAsLong(): () => Promise<void> {
  let resumedMs = monotonicMs();
  return async () => {
    await delay(Math.max(1, monotonicMs() - resumedMs));
    resumedMs = monotonicMs();
  };
}

function tooManyWaiting(): Refusal {
  return new Refusal('rate_limited', {
    detail: `This account has ${WAITING_MAX} token counts waiting; try again shortly.`,
    headers: retryHeaders(WAITING_RETRY_MS),
  });
}
