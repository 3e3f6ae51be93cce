import { outputTokensOf, type TokenUsage } from '@tollgate/contracts';
import { outputCeiling } from '@tollgate/metering';
import type { StreamReader } from '@tollgate/protocols';

/** Near the ceiling a stream is read in pieces of this size, the most by which it passes the ceiling: those of a hold, so that an ordinary read is one piece. */
const PIECE_BYTES = 16 * 1024;

export interface CeilingParts {
  /** Is the limit that was given, times the choices. */
  limit: number;
  /** Counts the tokens of the text that is shown and is not above the true count. */
  shownTokens: () => number;
  /** Counts the tokens of the text that is not shown. */
  hiddenTokens: () => number;
  reported: () => Pick<StreamReader, 'usage' | 'hasFinish'> | null;
}

/**
 * Ends a stream whose upstream ignores its limit: beyond twice the limit and 1,024 tokens of shown text, or if the upstream's own running
 * usage is beyond that. Reasoning does not count, as some servers do not count it in their limit (docs/decisions/0010).
 */
export class OutputCeiling {
  readonly #parts: CeilingParts;
  readonly #tokens: number;
  /** Counts the tokens of shown text that certainly fit. A byte is at most one token, so nothing is counted while the bytes are fewer. */
  #sureTokens: number;
  /** There was more text after a finish: of another choice, or of an upstream that does not stop. */
  #isFinishFalse = false;
  /** Holds the upstream's usage at the last look. */
  #known: StreamReader['usage'] = null;
  #isReportBeyond = false;

  constructor(parts: CeilingParts) {
    this.#parts = parts;
    this.#tokens = outputCeiling(parts.limit);
    this.#sureTokens = this.#tokens;
  }

  shown(bytes: number): void {
    this.#sureTokens -= bytes;
    this.#isFinishFalse ||= this.#hasFinish;
  }

  /** Returns how many of the next `bytes` from upstream may be read before the next look. */
  take(bytes: number): number {
    return Math.min(bytes, Math.max(PIECE_BYTES, this.#sureTokens));
  }

  /** Returns true when the stream has passed its ceiling and must be ended. A stream that has its finish ends by itself, unless text follows. */
  isPassed(): boolean {
    if (this.#hasFinish) return this.#isFinishFalse && this.#isShownBeyond();
    return this.#isShownBeyond() || this.isReportBeyond();
  }

  /** Returns true when the upstream itself has reported more than the ceiling before its finish. */
  isReportBeyond(): boolean {
    const usage = this.#parts.reported()?.usage ?? null;
    if (usage === this.#known || this.#hasFinish) return this.#isReportBeyond;
    this.#known = usage;
    this.#isReportBeyond = usage !== null && this.#isBeyond(usage);
    return this.#isReportBeyond;
  }

  #isBeyond(usage: TokenUsage): boolean {
    const output = outputTokensOf(usage);
    if (!Number.isSafeInteger(output) || output <= this.#tokens) return false;
    return output - Math.max(usage.reasoning, this.#parts.hiddenTokens()) > this.#tokens;
  }

  #isShownBeyond(): boolean {
    if (this.#sureTokens >= 0) return false;
    this.#sureTokens = this.#tokens - this.#parts.shownTokens();
    return this.#sureTokens < 0;
  }

  get #hasFinish(): boolean {
    return this.#parts.reported()?.hasFinish ?? false;
  }
}
