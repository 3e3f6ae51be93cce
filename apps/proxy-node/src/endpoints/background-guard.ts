import { setTimeout as delay } from 'node:timers/promises';
import type { BackgroundMarks, BackgroundPlace } from '@tollgate/keyspace';
import type { BackgroundRuns } from '../background/background-runs.ts';
import { monotonicMs } from '../monotonic-ms.ts';
import { Refusal, retryHeaders } from '../refusals.ts';

/** A node that looks at the run by itself does so within `BACKGROUND_POLL_MS`; the caller waits for one that is near. */
const WAIT_MS = 5_000;
const LOOK_MS = 100;
const RETRY_MS = 5_000;

/** What clients do to responses that are made in the background, of whichever node of the fleet. */
export class BackgroundGuard {
  readonly #marks: Pick<BackgroundMarks, 'has'>;
  readonly #runs: Pick<BackgroundRuns, 'wake'>;

  constructor({
    marks,
    runs,
  }: {
    marks: Pick<BackgroundMarks, 'has'>;
    runs: Pick<BackgroundRuns, 'wake'>;
  }) {
    this.#marks = marks;
    this.#runs = runs;
  }

  /** Its usage would be deleted with it: a response that is not settled is cancelled and settled first. Throws Refusal while that takes long. */
  async beforeDelete(place: BackgroundPlace, cancel: () => Promise<unknown>): Promise<void> {
    if (!(await this.#isRunning(place))) return;
    // One that has ended refuses; any other failure shows in the next try.
    await cancel().catch(() => undefined);
    this.#runs.wake(place);
    const deadline = monotonicMs() + WAIT_MS;
    while (await this.#isRunning(place)) {
      if (monotonicMs() > deadline)
        throw new Refusal('background_running', { headers: retryHeaders(RETRY_MS) });
      await delay(LOOK_MS);
    }
  }

  cancelled(place: BackgroundPlace): void {
    this.#runs.wake(place);
  }

  async #isRunning(place: BackgroundPlace): Promise<boolean> {
    try {
      return await this.#marks.has(place);
    } catch {
      throw new Refusal('metering_unavailable', { headers: retryHeaders(RETRY_MS) });
    }
  }
}
