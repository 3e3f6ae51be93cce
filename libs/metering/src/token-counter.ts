import { countPieces } from './count-pieces.ts';

/**
 * Merging is quadratic in an unbroken run (16,000 CJK letters took 1.8 s), so longer runs are cut: at 64 a run costs what words cost, at 256
 * one letter repeated cost ten times that. Words are shorter; scripts without spaces lose 3 % where nothing else breaks them.
 * Runs as the tokenizer sees them: letters with their marks, signs, white space. Digits it cuts itself.
 */
const RUN_MAX = 64;
const LONG_RUN = /[\p{L}\p{M}]{65,}|[^\s\p{L}\p{N}]{65,}|\s{65,}/gu;
const RUN_PIECE = /[^]{1,64}/gu;
/** What one cut can add to the count of the two halves; taken off again, so that a count never exceeds the true one. */
const TOKENS_PER_CUT = 2;
/** The longest token of o200k, 128 blanks: no text has fewer tokens than its bytes divided by this. */
export const BYTES_PER_TOKEN_MAX = 128;
/** Between two pauses: half a millisecond of work for prose, about ten for the worst that can be sent. */
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

  /** What `finish` would say now: not below the certain count, and moved a little by what comes next. */
  get tokensIfEnded(): number {
    const { tokens } = this;
    return this.#tail === '' ? tokens : tokens + countTokens(this.#tail);
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
    this.#take(lastSafeBoundary(this.#tail), 0);
    while (this.#tail.length > 2 * RUN_MAX)
      this.#take((this.#tail.match(RUN_PIECE)?.[0] ?? '').length, TOKENS_PER_CUT);
  }

  #take(chars: number, tokensOff: number): void {
    this.#tokens += Math.max(0, countTokens(this.#tail.slice(0, chars)) - tokensOff);
    this.#tail = this.#tail.slice(chars);
  }

  #collect(): void {
    if (this.#pieces.length === 0) return;
    this.#tail += this.#pieces.join('');
    this.#pieces = [];
  }
}

/** Tokens (o200k) of a text. With unbroken runs over 64 characters slightly below the true count, never above it. */
export function countTokens(text: string): number {
  let tokens = 0;
  let start = 0;
  for (const run of text.matchAll(LONG_RUN)) {
    for (const piece of run[0].matchAll(RUN_PIECE)) {
      const end = run.index + piece.index + piece[0].length;
      tokens += Math.max(0, countPieces(text.slice(start, end)) - TOKENS_PER_CUT);
      start = end;
    }
  }
  return tokens + countPieces(text.slice(start));
}

/**
 * As `countTokens`, for long texts: `pause` is awaited between batches, so that other requests continue meanwhile. Above `tokensMax` the rest is of no
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
