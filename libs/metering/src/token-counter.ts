import { countTokens, countWithin } from './count-pieces.ts';
import { TOKEN_BYTES_MAX } from './token-table.ts';

/**
 * Text without a safe boundary is settled in halves: what follows it reaches back over as many characters only where each pair of them has a lower
 * rank than the one before, all the way. A count is exact but for a token or two where no token ends with a character.
 */
const UNSETTLED_CHARS_MAX = 1_024;
export { countTokens };

/** No text has fewer tokens than its bytes divided by this. */
export const BYTES_PER_TOKEN_MAX = TOKEN_BYTES_MAX;
/** Between two pauses: half a millisecond of work for prose, two for the worst that can be sent. */
const BATCH_CHARS = 4_096;
/** A sign after a letter or digit always starts a new piece; an apostrophe may belong to the word, a mark to its letter. */
const SIGN_AFTER_WORD = /(?<=[\p{L}\p{N}])[^\s\p{L}\p{N}\p{M}']/gu;

/**
 * Counts the tokens (o200k) of text that arrives in pieces. `push` only collects; reading `tokens` tokenises what is certain by then,
 * up to the last boundary that later text cannot move, so the running count never exceeds the true count of the whole text.
 */
export class TokenCounter {
  #pieces: string[] = [];
  #tail = '';
  #tokens = 0;

  push(text: string): void {
    if (text !== '') this.#pieces.push(text);
  }

  /** Tokens that are certain so far. */
  get tokens(): number {
    if (this.#pieces.length > 0) this.#countSettled();
    return this.#tokens;
  }

  /** The count that `finish` would return now: not below the certain count, and moved a little by what comes next. */
  get tokensIfEnded(): number {
    const { tokens } = this;
    return this.#tail === '' ? tokens : tokens + countTokens(this.#tail);
  }

  /** Counts a long text that waits beside other work: `pause` is awaited between batches. */
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

  /** No more text will come: the count of all of it. */
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
 * Counts as `countTokens` does, for long texts: `pause` is awaited between batches, so that other requests continue meanwhile. Above `tokensMax` the rest is of no
 * interest: the answer is then some number above it.
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
 * The last place in `text` where the tokenizer starts a new piece whatever follows, 0 when there is none:
 * a space after something that is not white space, else a sign after a word.
 */
function lastSafeBoundary(text: string): number {
  for (let at = text.lastIndexOf(' '); at > 0; at = text.lastIndexOf(' ', at - 1)) {
    if (/\S/u.test(text.charAt(at - 1))) return at;
  }
  let boundary = 0;
  for (const match of text.matchAll(SIGN_AFTER_WORD)) boundary = match.index;
  return boundary;
}
