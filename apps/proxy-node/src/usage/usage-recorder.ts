import type { FundsHint, TokenUsage, UsageFinal } from '@tollgate/contracts';
import type { BackgroundRun, OpenHold } from '../journal/open-hold.ts';
import type { StopReason } from './checkpoints/checkpoint-step.ts';
import type { FailOpen } from './fail-open.ts';

/** Is the pipeline's view of metering: open a hold, count, settle. The journal, the settler and the checkpointer of this folder implement it. */
export interface UsageRecorder {
  /** Journals the admission; from then on every way out must settle. */
  open(hold: OpenHold): HoldHandle;
  /**
   * Returns why new requests must be refused now (journal not writable, Redis away, backlog above its limit), or null. With `redis_away`, `failOpen`
   * decides.
   */
  refusal(): 'metering_unavailable' | 'redis_away' | 'backlog_full' | null;
  /** Decides what may be admitted while Redis does not answer; it is off unless the operator turned it on. */
  readonly failOpen: Pick<FailOpen, 'isOn' | 'remember' | 'forget' | 'knows' | 'admit'>;
  /** Counts requests of the subscription that have ended and whose settlement was not sent yet: Redis still counts them as running. */
  endedUnsent(subscription: { accountId: number; modelId: number }): number;
  /** Reports that a request is refused, or waits, for lack of tokens, so that auto-recharge may evaluate it. Returns at once. */
  refusedForFunds(hint: FundsHint): void;
}

/** Holds a background answer with the hold that pays it. */
export interface AdoptedRun {
  readonly hold: OpenHold;
  readonly handle: HoldHandle;
}

export interface HoldHandle {
  /**
   * Sets the source of the usage so far. Call it once, when there is something to count. `source` is read every 100 ms for the journal and before a
   * checkpoint, never after `settle`. A chunk therefore costs nothing here, and tokenising happens in batches.
   */
  count(source: () => TokenUsage): void;
  /** Adds a lower bound of output tokens to the source. Call it once, after `count`. */
  countAtLeast(outputTokens: () => number): void;
  /** Announces that there is more to count than at the last read. A source that announces so is read after it does, and once a second. */
  more(): void;
  /** Returns the usage counted so far. */
  counted(): TokenUsage;
  /**
   * The answer is generated in the background from now on. The journal has that when this returns, so that the next process continues it. Returns the
   * hold as it is kept.
   */
  detach(run: BackgroundRun): OpenHold;
  /** Returns the output tokens that the hold still pays for beside this usage: negative when it is overdrawn, Infinity where output is free. */
  room(usage: TokenUsage): number;
  /** Returns whether the hold covers all that the request can cost while the upstream keeps its limits, and the upstream has kept them by this usage. */
  isBoundHeld(usage: TokenUsage): boolean;
  /**
   * Asks for a slice at once for a stream that waits with a used hold, also beyond the bound, because an upstream may count differently. `listener`
   * is called when the hold has grown; otherwise `onStop` is called.
   */
  grow(listener: () => void): void;
  /** Is called once, when a checkpoint decides that the stream must end; at once when that was decided earlier. */
  onStop(listener: (reason: StopReason) => void): void;
  /**
   * Calls `onJournalled` when the final is in the journal: at the end of this turn of the event loop, because all finals of a turn are one write. The
   * final is settled in the background, with retries. The first call counts; later ones do nothing, and are journalled at once.
   */
  settle(final: UsageFinal, onJournalled: () => void): void;
}

/** Resolves when the final of a hold is in the journal. */
export function journalled(hold: Pick<HoldHandle, 'settle'>, final: UsageFinal): Promise<void> {
  return new Promise((resolve) => hold.settle(final, resolve));
}
