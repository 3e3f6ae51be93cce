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

/** A count that becomes known without a chunk, such as the tokens of a long prompt, waits for so many turns: a second. */
const UNSEEN_TURNS_MAX = 10;

/** Keeps holds; `Checkpointer` fits. */
export interface HoldKeeper {
  readonly log: Pick<Logger, 'warn'>;
  start(hold: OpenHold): HoldState;
  step(kept: KeptHold, event: HoldEvent): void;
  release(kept: KeptHold): void;
}

/** The hold of a running request: one object, which its request counts by and its checkpointer steps. See `HoldHandle`. */
export class KeptHold {
  readonly hold: OpenHold;
  readonly #keeper: HoldKeeper;
  /** The price that the hold is sized by: only the report says which tier the prompt is in. */
  readonly #heldPrice: ChargeWeights;
  state: HoldState;
  usage: TokenUsage = NO_USAGE;
  /** The charge of `usage`. */
  charge = 0;
  /** The turn in which it is counted. */
  turn = 0;
  #source: (() => TokenUsage) | null = null;
  /** The source says when there is more. */
  #isPushed = false;
  #hasMore = true;
  /** Turns since the last look. */
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

  /** Counts in each turn from then on: the source no longer says when there is more. */
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

  /** Its answer is made in the background from now on. */
  detached(): void {
    this.#keeper.step(this, { kind: 'detached' });
  }

  /** Its request has ended. */
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

  /** Counts for a turn; true when anything rose since the last. A stream that was silent since its last look is left alone, as most of thousands are most of the time. */
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

  /** A count that fails must not take the timer, and with it every other stream's count, with it. */
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
