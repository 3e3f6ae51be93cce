import { letPass } from '@tollgate/harness';
import type { Finding } from '../books/finding.ts';
import { SHORT_CHAT, type RequestPlan } from './plan-requests.ts';
import type { ClientRecord, Target } from './client-record.ts';
import { sendRequest } from './send-request.ts';

const WINDOW_MS = 60_000;
/** The windows count in buckets of a second. */
const BUCKET_MS = 1_000;

/** A key with `rpm` lets exactly that many through, over all nodes together, and as many again one window later. */
export class RateWindow {
  readonly #targets: readonly Target[];
  readonly #rpm: number;
  readonly #problems: string[] = [];
  readonly records: ClientRecord[] = [];
  #spentAtMs = 0;
  #bursts = 0;

  /** Takes as `targets` the same key at every address. */
  constructor(targets: readonly Target[], rpm: number) {
    this.#targets = targets;
    this.#rpm = rpm;
  }

  /** Sends twice the limit at once, spread over the addresses. */
  async burst(): Promise<void> {
    const records = await Promise.all(
      Array.from({ length: 2 * this.#rpm }, (_, index) =>
        sendRequest(PLAN, this.#targets[index % this.#targets.length] as Target),
      ),
    );
    this.#spentAtMs = performance.now();
    this.#bursts += 1;
    this.records.push(...records);
    const passed = records.filter(({ status }) => status === 200).length;
    const limited = records.filter(({ status }) => status === 429).length;
    if (passed !== this.#rpm || limited !== this.#rpm)
      this.#problems.push(
        `burst ${this.#bursts} of ${records.length}: ${passed} passed, ${limited} were refused with 429`,
      );
  }

  /** Waits until the whole limit must be available again. */
  async nextWindow(): Promise<void> {
    const endsAtMs = this.#spentAtMs + WINDOW_MS + BUCKET_MS;
    await letPass(endsAtMs - performance.now(), 'the window ends by the clock of Redis');
  }

  finding(): Finding {
    return {
      name: 'rate limit',
      promise: `rpm ${this.#rpm}: exactly ${this.#rpm} pass on all nodes together, in each window`,
      compared: this.records.length,
      problems: this.#problems,
    };
  }
}

const PLAN: RequestPlan = { ...SHORT_CHAT, tokens: 1, promptWords: 1 };
