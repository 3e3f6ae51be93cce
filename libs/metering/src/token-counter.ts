import { countTokens, countWithin } from './count-pieces.ts';
import { TOKEN_BYTES_MAX } from './token-table.ts';

/**
 * Text without a safe boundary is settled in halves of this length: the following text could reach back as far only if each pair of characters has a
 * lower rank than the one before, all the way. A count is exact except for a token or two where no token ends with a character.
 */
const UNSETTLED_CHARS_MAX = 1_024;
export { countTokens };

/** A text has at least its bytes divided by this many tokens. */
export const BYTES_PER_TOKEN_MAX = TOKEN_BYTES_MAX;
/** Bounds the work between two pauses: half a millisecond for prose, two for the worst text. */
const BATCH_CHARS = 4_096;
/** A sign after a letter or digit always starts a new piece; an apostrophe may belong to the word, and a mark to its letter. */
const SIGN_AFTER_WORD = /(?<=[\p{L}\p{N}])[^\s\p{L}\p{N}\p{M}']/gu;

/**
 * Counts the tokens (o200k) of text that arrives in pieces. `push` only collects; reading `tokens` tokenises up to the last boundary that later text
 * cannot move, so the running count never exceeds the true count of the whole text.
 */
export class TokenCounter {
  #pieces: string[] = [];
  #tail = '';
  #tokens = 0;

  push(text: string): void {
    if (text !== '') this.#pieces.push(text);
  }

  /** Returns the tokens that are certain so far. */
  get tokens(): number {
    if (this.#pieces.length > 0) this.#countSettled();
    return this.#tokens;
  }

  /** Returns the count that `finish` would return now. It is not below the certain count, and later text may change it slightly. */
  get tokensIfEnded(): number {
    const { tokens } = this;
    return this.#tail === '' ? tokens : tokens + countTokens(this.#tail);
  }

  /** Counts a long text between other work: `pause` is awaited between batches. */
  async countGently(pause: () => Promise<void>): Promise<void> {
    const text = this.#pieces.join('');
    if (text.length <= BATCH_CHARS) return;
    this.#pieces = [];
    for (let start = 0; start < text.length; start += BATCH_CHARS) {
      this.push(text.slice(start, start + BATCH_CHARS));
      this.#countSettled();
      await pause();
    }
  }

  /** Ends the text and returns the count of all of it. */
  finish(): number {
    this.#collect();
    this.#tokens += countTokens(this.#tail);
    this.#tail = '';
    return this.#tokens;
  }

  #countSettled(): void {
    this.#collect();
    const boundary = lastSafeBoundary(this.#tail);
    this.#settle({ tokens: countTokens(this.#tail.slice(0, boundary)), chars: boundary });
    while (this.#tail.length > UNSETTLED_CHARS_MAX)
      this.#settle(countWithin(this.#tail, this.#tail.length - UNSETTLED_CHARS_MAX / 2));
  }

  #settle({ tokens, chars }: { tokens: number; chars: number }): void {
    this.#tokens += tokens;
    this.#tail = this.#tail.slice(chars);
  }

  #collect(): void {
    if (this.#pieces.length === 0) return;
    this.#tail += this.#pieces.join('');
    this.#pieces = [];
  }
}

/**
 * Counts as `countTokens` does, for long texts: `pause` is awaited between batches, so that other requests continue. Above `tokensMax` the count
 * stops, and the answer is some number above it.
 */
export async function countTokensGently(
  text: string,
  pause: () => Promise<void>,
  tokensMax = Infinity,
): Promise<number> {
  const counter = new TokenCounter();
  for (let start = 0; start < text.length && counter.tokens <= tokensMax; start += BATCH_CHARS) {
    counter.push(text.slice(start, start + BATCH_CHARS));
    await pause();
  }
  return counter.finish();
}

/**
 * Returns the last position in `text` where the tokenizer starts a new piece whatever follows: a space after a non-blank, otherwise a sign after a
 * word. Returns 0 when there is none.
 */
function lastSafeBoundary(text: string): number {
  for (let at = text.lastIndexOf(' '); at > 0; at = text.lastIndexOf(' ', at - 1)) {
    if (/\S/u.test(text.charAt(at - 1))) return at;
  }
  let boundary = 0;
  for (const match of text.matchAll(SIGN_AFTER_WORD)) boundary = match.index;
  return boundary;
}
