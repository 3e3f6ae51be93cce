import {
  NO_USAGE,
  outputTokensOf,
  promptTokensOf,
  withOutputAtLeast,
  type TokenUsage,
} from '@tollgate/contracts';
import {
  chargeOf,
  dearestReached,
  outputPaidBy,
  weightsAt,
  type ChargeWeights,
} from '@tollgate/metering';
import type { Logger } from 'pino';
import type { OpenHold } from '../../journal/open-hold.ts';
import type { HoldEvent, HoldState, StopReason } from './checkpoint-step.ts';

/** A count that changes without a chunk, such as the tokens of a long prompt, is read after this many turns: one second. */
const UNSEEN_TURNS_MAX = 10;

/** Keeps holds; `Checkpointer` implements it. */
export interface HoldKeeper {
  readonly log: Pick<Logger, 'warn'>;
  start(hold: OpenHold): HoldState;
  step(kept: KeptHold, event: HoldEvent): void;
  release(kept: KeptHold): void;
}

/** Represents the hold of a running request: its request counts through it, and its checkpointer steps it. See `HoldHandle`. */
export class KeptHold {
  readonly hold: OpenHold;
  readonly #keeper: HoldKeeper;
  /** Is the price by which the hold is sized, because only the report shows the prompt's tier. */
  readonly #heldPrice: ChargeWeights;
  state: HoldState;
  usage: TokenUsage = NO_USAGE;
  /** Is the charge of `usage`. */
  charge = 0;
  /** Is the turn in which it is counted. */
  turn = 0;
  #source: (() => TokenUsage) | null = null;
  /** Is true when the source announces new counts. */
  #isPushed = false;
  #hasMore = true;
  /** Counts the turns since the last read. */
  #unseenTurns = 0;
  #onGrown: (() => void) | null = null;
  #onStop: ((reason: StopReason) => void) | null = null;

  constructor(keeper: HoldKeeper, hold: OpenHold) {
    this.hold = hold;
    this.#keeper = keeper;
    this.#heldPrice = dearestReached(hold.price, hold.promptTokens ?? 0);
    this.state = keeper.start(hold);
  }

  count(source: () => TokenUsage): void {
    this.#source = source;
    this.#isPushed = false;
    this.#hasMore = true;
  }

  /** Counts in each turn from now on, because the source no longer announces new counts. */
  countAtLeast(outputTokens: () => number): void {
    const source = this.#source;
    this.count(() => withOutputAtLeast(source?.() ?? this.usage, outputTokens()));
  }

  more(): void {
    this.#isPushed = true;
    this.#hasMore = true;
  }

  counted(): TokenUsage {
    this.#countAgain();
    return this.usage;
  }

  room(usage: TokenUsage): number {
    const price = this.#heldPrice;
    const weights = weightsAt(promptTokensOf(usage), price);
    return outputPaidBy(this.state.heldTokens - chargeOf(usage, price), weights);
  }

  isBoundHeld(usage: TokenUsage): boolean {
    const { boundTokens } = this.hold;
    return this.state.heldTokens >= boundTokens && chargeOf(usage, this.#heldPrice) <= boundTokens;
  }

  grow(listener: () => void): void {
    this.#onGrown = listener;
    this.#keeper.step(this, { kind: 'waits' });
  }

  onStop(listener: (reason: StopReason) => void): void {
    this.#onStop = listener;
    if (this.state.stopped) listener(this.state.stopped);
  }

  /** Its answer is generated in the background from now on. */
  detached(): void {
    this.#keeper.step(this, { kind: 'detached' });
  }

  /** Is called when the request of this hold has ended. */
  release(): void {
    this.#keeper.release(this);
    if (this.state.waitsSinceMs !== null) this.#keeper.step(this, { kind: 'released' });
  }

  grown(): void {
    this.#onGrown?.();
  }

  stop(reason: StopReason): void {
    this.#onStop?.(reason);
  }

  /**
   * Counts for a turn; returns true when anything rose since the last one. A stream without a chunk since its last read is skipped, as most of
   * thousands are most of the time.
   */
  countIfMore(): boolean {
    this.#unseenTurns += 1;
    if (this.#isPushed && !this.#hasMore && this.#unseenTurns < UNSEEN_TURNS_MAX) {
      this.charge = this.state.charged;
      return false;
    }
    this.#hasMore = false;
    this.#unseenTurns = 0;
    return this.#countAgain();
  }

  /** A failing count must not stop the timer and with it every other stream's count. */
  #countAgain(): boolean {
    const { usage: before } = this;
    const { charged } = this.state;
    this.charge = charged;
    try {
      const usage = this.#source?.();
      if (!usage) return false;
      this.charge = chargeOf(usage, this.hold.price);
      this.usage = usage;
      return (
        this.charge > charged ||
        promptTokensOf(usage) > promptTokensOf(before) ||
        outputTokensOf(usage) > outputTokensOf(before)
      );
    } catch (error) {
      this.#keeper.log.warn({ err: error, rid: this.hold.rid }, 'a stream could not be counted');
      return false;
    }
  }
}
