import type { Token } from './copies.ts';

/** Tokens of the beginning, and of the places that it is compared with. */
const SAID = 24;
const PLACE = 40;
/** The share of the beginning's words, and their number, that one place must have. */
const SHARE = 0.6;
const WORDS_MIN = 4;
const WORD_LENGTH_MIN = 4;
/** Forms of a word differ at their ends. */
const STEM_LENGTH = 5;

/** Returns whether the beginning repeats some place in other words. A text that repeats itself so far is not judged. */
export function isParaphrase(had: readonly Token[], said: readonly Token[]): boolean {
  const most = mostShared(had, stemsOf(said.slice(0, SAID)));
  if (most < SHARE) return false;
  const tail = Math.max(0, had.length - SAID);
  return mostShared(had.slice(0, tail), stemsOf(had.slice(tail))) < SHARE / 2;
}

function mostShared(had: readonly Token[], stems: ReadonlySet<string>): number {
  if (stems.size === 0) return 0;
  let most = 0;
  for (let from = 0; from < had.length; from += PLACE / 2) {
    if (from > 0 && had.length - from < PLACE / 2) break;
    const place = stemsOf(had.slice(from, from + PLACE));
    const shared = [...stems].filter((stem) => place.has(stem)).length;
    // A place of few words counts as repeated when its few words are.
    const size = Math.min(stems.size, place.size);
    if (shared >= Math.min(WORDS_MIN, Math.max(2, size))) most = Math.max(most, shared / size);
  }
  return most;
}

function stemsOf(tokens: readonly Token[]): Set<string> {
  return new Set(
    tokens
      .filter(({ word }) => word.length >= WORD_LENGTH_MIN)
      .map(({ word }) => word.slice(0, STEM_LENGTH)),
  );
}
