import { setTimeout as delay } from 'node:timers/promises';
import type { BackgroundMarks, BackgroundPlace } from '@tollgate/keyspace';
import { readStoredResponse } from '@tollgate/protocols';
import type { BackgroundRuns } from '../background/background-runs.ts';
import { tokensOf } from '../background/run-evidence.ts';
import { monotonicMs } from '../monotonic-ms.ts';
import { Refusal, retryHeaders } from '../refusals.ts';

/** A node that checks the run itself does so within `BACKGROUND_POLL_MS`; the caller waits this long. */
const WAIT_MS = 5_000;
const LOOK_MS = 100;
const RETRY_MS = 5_000;

/** Holds the calls that a run's upstream answers; a call is null if the upstream does not have it. */
export interface RunActs {
  readonly look: () => Promise<Uint8Array | null>;
  readonly cancel: () => Promise<Uint8Array | null>;
}

type Marks = Pick<BackgroundMarks, 'has' | 'shown' | 'cancelled'>;

/** Decides what clients may do with background responses of any node of the fleet, and what they are shown. */
export class BackgroundGuard {
  readonly #marks: Marks;
  readonly #runs: Pick<BackgroundRuns, 'wake' | 'shown'>;

  constructor({ marks, runs }: { marks: Marks; runs: Pick<BackgroundRuns, 'wake' | 'shown'> }) {
    this.#marks = marks;
    this.#runs = runs;
  }

  /** Cancels and settles an unsettled response before it is deleted, because its usage would be deleted with it. It throws Refusal while that takes long. */
  async beforeDelete(place: BackgroundPlace, { look, cancel }: RunActs): Promise<void> {
    if (!(await this.isRunning(place))) return;
    if (!(await this.finished(place, look))) {
      // A run that has ended since refuses; any other failure shows in the next try.
      const answer = await cancel().catch(() => null);
      if (answer) await this.cancelled(place, answer);
      else this.#runs.wake(place, null);
    }
    const deadline = monotonicMs() + WAIT_MS;
    while (await this.isRunning(place)) {
      if (monotonicMs() > deadline)
        throw new Refusal('background_running', { headers: retryHeaders(RETRY_MS) });
      await delay(LOOK_MS);
    }
  }

  /**
   * Returns the answer about a run that its upstream has finished and that is still unsettled; null for any other. It is not cancelled, because its
   * upstream may then no longer report its usage.
   */
  async finished(place: BackgroundPlace, look: RunActs['look']): Promise<Uint8Array | null> {
    if (!(await this.isRunning(place))) return null;
    const answer = await look().catch(() => null);
    if (!answer || readStoredResponse(answer)?.isOver !== true) return null;
    this.#runs.wake(place, null);
    await this.shownWhole(place, answer);
    return answer;
  }

  /** Notes the upstream's answer to a client's cancellation. */
  async cancelled(place: BackgroundPlace, answer: Uint8Array): Promise<void> {
    await this.#marks.cancelled(place, Date.now()).catch(() => undefined);
    await this.shownWhole(place, answer);
    this.#runs.wake(place, readStoredResponse(answer));
  }

  /** A client is about to see this answer about a run. */
  async shownWhole(place: BackgroundPlace, answer: Uint8Array): Promise<void> {
    const { outputText = '' } = readStoredResponse(answer) ?? {};
    await this.shown(place, await tokensOf(outputText));
  }

  /** A client has seen this many output tokens of a run. While Redis does not answer, only the run's own node knows. */
  async shown(place: BackgroundPlace, tokens: number): Promise<void> {
    if (tokens === 0) return;
    this.#runs.shown(place, tokens);
    await this.#marks.shown(place, tokens).catch(() => undefined);
  }

  /** Returns true when the response is not settled yet. */
  async isRunning(place: BackgroundPlace): Promise<boolean> {
    try {
      return await this.#marks.has(place);
    } catch {
      throw new Refusal('metering_unavailable', { headers: retryHeaders(RETRY_MS) });
    }
  }
}
