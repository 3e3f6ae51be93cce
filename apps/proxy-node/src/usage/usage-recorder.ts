import type { FundsHint, TokenUsage, UsageFinal } from '@tollgate/contracts';
import type { BackgroundRun, OpenHold } from '../journal/open-hold.ts';
import type { StopReason } from './checkpoints/checkpoint-step.ts';
import type { FailOpen } from './fail-open.ts';

/** Is the pipeline's view of metering: open a hold, count, settle. The journal, the settler and the checkpointer of this folder implement it. */
export interface UsageRecorder {
  /** Journals the admission; from here on every way out must settle. */
  open(hold: OpenHold): HoldHandle;
  /** Returns why new requests must be refused now (journal unwritable, Redis away, backlog over its limit), or null. With `redis_away` `failOpen` decides. */
  refusal(): 'metering_unavailable' | 'redis_away' | 'backlog_full' | null;
  /** Decides what may be admitted while Redis does not answer; off unless the operator turned it on. */
  readonly failOpen: Pick<FailOpen, 'isOn' | 'remember' | 'forget' | 'knows' | 'admit'>;
  /** Requests of the subscription that have ended and whose settlement was not sent yet: to Redis they still run. */
  endedUnsent(subscription: { accountId: number; modelId: number }): number;
  /** A request is refused, or waits, for lack of tokens: auto-recharge may look at once. Returns at once. */
  refusedForFunds(hint: FundsHint): void;
}

/** An answer in the background, with the hold that pays it. */
export interface AdoptedRun {
  readonly hold: OpenHold;
  readonly handle: HoldHandle;
}

export interface HoldHandle {
  /**
   * Says where the usage so far can be read. Call it once, when there is something to count. `source` is asked every 100 ms for the
   * journal and before a checkpoint; never after `settle`. A chunk therefore costs nothing here, and tokenising is done in batches.
   */
  count(source: () => TokenUsage): void;
  /** Adds to the source that has been said: at least so many output tokens are counted. Call it once, after `count`. */
  countAtLeast(outputTokens: () => number): void;
  /** There is more to count than at the last look. A source that says so once is asked after it says so, and once a second. */
  more(): void;
  /** Returns the usage counted so far. */
  counted(): TokenUsage;
  /**
   * The answer is made in the background from here on: the journal knows when this returns, so that the next process continues with it. Answers the hold as it
   * is kept.
   */
  detach(run: BackgroundRun): OpenHold;
  /** Output tokens the hold still pays for beside this usage: below zero when it is overdrawn, Infinity where output is free. */
  room(usage: TokenUsage): number;
  /** It covers all that the request can cost while the upstream keeps to the limits it was given, and by this usage the upstream has kept to them. */
  isBoundHeld(usage: TokenUsage): boolean;
  /**
   * The hold is used up and the stream waits: asks for a slice at once, also beyond the bound, as an upstream may count otherwise than we do.
   * `listener` is called once the hold has grown; when it cannot, `onStop` is.
   */
  grow(listener: () => void): void;
  /** Called once, when a checkpoint says that the stream must end. At once, when that was decided before. */
  onStop(listener: (reason: StopReason) => void): void;
  /**
   * `onJournalled` is called once the final is in the journal: at the end of this turn of the event loop, as all finals of a turn are one write. It is settled
   * in the background, with retries. The first call wins; later ones do nothing, and are journalled at once.
   */
  settle(final: UsageFinal, onJournalled: () => void): void;
}

/** Resolves once the final of a hold is in the journal. */
export function journalled(hold: Pick<HoldHandle, 'settle'>, final: UsageFinal): Promise<void> {
  return new Promise((resolve) => hold.settle(final, resolve));
}
