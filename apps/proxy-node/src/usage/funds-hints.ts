import type { FundsHint } from '@tollgate/contracts';
import type { Logger } from 'pino';
import { SYSTEM_TIMERS, type Timers } from '../timers.ts';
import type { UsageQueue } from './usage-queue.ts';

/** Several refusals within this time share one job. */
const COLLECT_MS = 50;
/** A subscription is reported at most once in this time, unless a request needs more: a caller without funds usually calls again at once. */
const QUIET_MS = 1_000;
/** Bounds the subscriptions of one job. Further ones wait for their next refusal, or for the sweep. */
const WAITING_MAX = 200;
/** Bounds the remembered subscriptions; removing one early costs one more hint. */
const REPORTED_MAX = 10_000;

/**
 * Reports to the control plane which subscriptions had requests refused for lack of tokens, so that auto-recharge evaluates them at once. The hints
 * are bounded and deduplicated, and are lost when the queue does not take them, because settlements, credits and a sweep evaluate subscriptions, too.
 */
export class FundsHints {
  readonly #queue: UsageQueue;
  readonly #log: Pick<Logger, 'debug'>;
  readonly #now: () => number;
  readonly #timers: Timers;
  /** Maps subscriptions to the time and need of their last report, oldest first. */
  readonly #reported = new Map<string, { atMs: number; neededTokens: number }>();
  #waiting = new Map<string, FundsHint>();
  #cancelSend: (() => void) | undefined;

  constructor({
    queue,
    log,
    now,
    timers = SYSTEM_TIMERS,
  }: {
    queue: UsageQueue;
    log: Pick<Logger, 'debug'>;
    now: () => number;
    timers?: Timers;
  }) {
    this.#queue = queue;
    this.#log = log;
    this.#now = now;
    this.#timers = timers;
  }

  /** Costs the refused request one lookup in a map. */
  note(hint: FundsHint): void {
    const subscription = `${hint.accountId}:${hint.modelId}`;
    const now = this.#now();
    const last = this.#reported.get(subscription);
    const isQuiet = last && now - last.atMs < QUIET_MS && hint.neededTokens <= last.neededTokens;
    if (isQuiet || (this.#waiting.size >= WAITING_MAX && !this.#waiting.has(subscription))) return;
    this.#remember(subscription, { atMs: now, neededTokens: hint.neededTokens });
    this.#waiting.set(subscription, hint);
    this.#cancelSend ??= this.#timers.after(COLLECT_MS, () => void this.#send());
  }

  close(): void {
    this.#cancelSend?.();
  }

  #remember(subscription: string, report: { atMs: number; neededTokens: number }): void {
    this.#reported.delete(subscription);
    this.#reported.set(subscription, report);
    const [oldest] = this.#reported.keys();
    if (this.#reported.size > REPORTED_MAX && oldest !== undefined) this.#reported.delete(oldest);
  }

  async #send(): Promise<void> {
    this.#cancelSend = undefined;
    const refusedForFunds = [...this.#waiting.values()];
    this.#waiting = new Map();
    try {
      await this.#queue.add({ events: [], refusedForFunds });
    } catch (error) {
      this.#log.debug({ err: error }, 'refusals for funds could not be reported');
    }
  }
}
