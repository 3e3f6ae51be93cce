import { isSamePrompt, NO_USAGE, outputTokensOf, type TokenUsage } from '@tollgate/contracts';
import type { StreamReader } from '@tollgate/protocols';
import type { HoldHandle } from '../../usage/usage-recorder.ts';

/** An upstream is read in pieces of this size once a hold is nearly used up: an event or two. */
const PIECE_BYTES = 512;
const STEP_DECAY = 0.9;
/** Is the piece while the hold covers all that the upstream was allowed: the most by which an upstream that exceeds it can continue. */
const PIECE_IN_BOUND_BYTES = 16 * 1024;

export interface BudgetParts {
  hold: Pick<HoldHandle, 'room' | 'isBoundHeld'>;
  /** Returns the usage that would be charged if the stream ended now, and never less. */
  usage: () => TokenUsage;
  /** Returns the upstream's report so far. */
  reported: () => Pick<StreamReader, 'usage' | 'hasFinish'> | null;
}

/**
 * Knows how much of a stream its hold still covers. A byte of text is at most one token, so while the bytes generated since the last look are fewer than
 * the tokens that were left then, nothing has to be counted: a chunk costs a subtraction. A larger chunk is taken in pieces that fit. Near the end of
 * the hold they become small and each is counted, and the stream stops one piece early rather than late; where the hold covers all that the upstream
 * was allowed, it stops when that is exceeded. From then on a grown hold is read in small pieces, too.
 */
export class HoldBudget {
  readonly #parts: BudgetParts;
  /** Counts the output tokens that certainly fit; `#lookBelow` says when to look again: at half of what the last look found. */
  #sureTokens = 0;
  #lookBelow = 1;
  /** Counts the bytes of text that the piece in hand has brought so far. `#stepBytes` and `#stepTokens` hold what pieces bring lately. */
  #broughtBytes = 0;
  #stepBytes = 1;
  #stepTokens = 1;
  /** Holds the count of the last look, and the pieces that brought text since. */
  #looked: TokenUsage = NO_USAGE;
  #piecesSince = 0;
  /** Holds the upstream's usage at the last look. */
  #known: StreamReader['usage'] = null;
  /** There was more text after a finish. */
  #isFinishFalse = false;

  constructor(parts: BudgetParts) {
    this.#parts = parts;
  }

  generated(bytes: number): void {
    this.#sureTokens -= bytes;
    this.#broughtBytes += bytes;
    this.#isFinishFalse ||= this.#hasFinish;
  }

  /** Returns how many of the next `bytes` from upstream may be read now; 0 when the hold is used up. */
  take(bytes: number): number {
    this.#endPiece();
    if (!this.#hasFinish && this.#isPromptNews()) this.#look();
    if (this.#covers(bytes)) return bytes;
    if (this.#sureTokens < Math.max(this.#lookBelow, this.#stepBytes)) this.#look();
    if (this.#covers(bytes)) return bytes;
    // Nothing more is generated: the rest must not wait for tokens, nor get a second finish when there are none. The upstream may still generate after a finish.
    if (this.#hasFinish && !this.#isFinishFalse) return Math.min(bytes, PIECE_BYTES);
    return Math.min(bytes, this.#pieceBytes());
  }

  #endPiece(): void {
    if (this.#broughtBytes === 0) return;
    this.#stepBytes = Math.max(this.#broughtBytes, Math.floor(this.#stepBytes * STEP_DECAY));
    this.#broughtBytes = 0;
    this.#piecesSince += 1;
  }

  #look(): void {
    const usage = this.#parts.usage();
    this.#sureTokens = this.#parts.hold.room(usage);
    this.#lookBelow = this.#sureTokens / 2;
    if (this.#piecesSince > 0)
      this.#stepTokens = Math.ceil(
        Math.max(
          (outputTokensOf(usage) - outputTokensOf(this.#looked)) / this.#piecesSince,
          this.#stepTokens * STEP_DECAY,
        ),
      );
    this.#looked = usage;
    this.#piecesSince = 0;
  }

  get #hasFinish(): boolean {
    return this.#parts.reported()?.hasFinish ?? false;
  }

  /** The prompt may be dearer than what the hold took for it. */
  #isPromptNews(): boolean {
    const known = this.#known;
    const reported = this.#parts.reported()?.usage ?? null;
    if (reported === known) return false;
    this.#known = reported;
    return !known || !reported || !isSamePrompt(reported, known);
  }

  /** Whatever tokens these bytes turn out to be. */
  #covers(bytes: number): boolean {
    return (
      bytes <= this.#sureTokens || (bytes <= PIECE_BYTES && this.#stepBytes <= this.#sureTokens)
    );
  }

  /** Bytes alone do not say so, but a piece fits by the limit the upstream was given, all that is left may be its finish, or by what the last pieces were counted as. */
  #pieceBytes(): number {
    if (this.#sureTokens >= 0 && this.#parts.hold.isBoundHeld(this.#looked))
      return Math.max(PIECE_IN_BOUND_BYTES, this.#sureTokens);
    return Math.min(this.#stepBytes, this.#stepTokens) <= this.#sureTokens
      ? Math.max(PIECE_BYTES, this.#sureTokens)
      : 0;
  }
}
