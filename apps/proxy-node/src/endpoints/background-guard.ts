import { setTimeout as delay } from 'node:timers/promises';
import type { BackgroundMarks, BackgroundPlace } from '@tollgate/keyspace';
import { readStoredResponse } from '@tollgate/protocols';
import type { BackgroundRuns } from '../background/background-runs.ts';
import { tokensOf } from '../background/run-evidence.ts';
import { monotonicMs } from '../monotonic-ms.ts';
import { Refusal, retryHeaders } from '../refusals.ts';

/** A node that looks at the run by itself does so within `BACKGROUND_POLL_MS`; the caller waits for one that is near. */
const WAIT_MS = 5_000;
const LOOK_MS = 100;
const RETRY_MS = 5_000;

/** Holds the calls that a run's upstream answers; a call is null if the upstream does not have it. */
export interface RunActs {
  readonly look: () => Promise<Uint8Array | null>;
  readonly cancel: () => Promise<Uint8Array | null>;
}

type Marks = Pick<BackgroundMarks, 'has' | 'shown' | 'cancelled'>;

/** Decides what clients may do to background responses of any node of the fleet, and what they are shown of them. */
export class BackgroundGuard {
  readonly #marks: Marks;
  readonly #runs: Pick<BackgroundRuns, 'wake' | 'shown'>;

  constructor({ marks, runs }: { marks: Marks; runs: Pick<BackgroundRuns, 'wake' | 'shown'> }) {
    this.#marks = marks;
    this.#runs = runs;
  }

  /** Its usage would be deleted with it: a response that is not settled is cancelled and settled first. Throws Refusal while that takes long. */
  async beforeDelete(place: BackgroundPlace, { look, cancel }: RunActs): Promise<void> {
    if (!(await this.isRunning(place))) return;
    if (!(await this.finished(place, look))) {
      // One that has ended since refuses; any other failure shows in the next try.
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
   * The answer about a run that its upstream has finished, and that is still to be settled; null for any other. It is not cancelled: its upstream may
   * then report its usage no more.
   */
  async finished(place: BackgroundPlace, look: RunActs['look']): Promise<Uint8Array | null> {
    if (!(await this.isRunning(place))) return null;
    const answer = await look().catch(() => null);
    if (!answer || readStoredResponse(answer)?.isOver !== true) return null;
    this.#runs.wake(place, null);
    await this.shownWhole(place, answer);
    return answer;
  }

  /** Its upstream has answered a client's cancellation so. */
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

  /** A client has seen so many output tokens of a run. While Redis does not answer, only the run's own node knows. */
  async shown(place: BackgroundPlace, tokens: number): Promise<void> {
    if (tokens === 0) return;
    this.#runs.shown(place, tokens);
    await this.#marks.shown(place, tokens).catch(() => undefined);
  }

  /** Is true when the response is still to be settled. */
  async isRunning(place: BackgroundPlace): Promise<boolean> {
    try {
      return await this.#marks.has(place);
    } catch {
      throw new Refusal('metering_unavailable', { headers: retryHeaders(RETRY_MS) });
    }
  }
}
