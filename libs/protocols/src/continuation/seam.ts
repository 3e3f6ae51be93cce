import { isFenceAnew, isForeign, isSentenceAnew } from './opening.ts';
import { charactersOf, overlapOf } from './overlap.ts';
import { isPreamble } from './preamble-words.ts';
import { isRepetition, isRestart, isRestartLater } from './repetition.ts';
import { isWord, tokensOf, type Token } from './tokens.ts';

/** Tokens of the continuation that are judged, at least, and where its course is in doubt. */
const JUDGED_MIN = 24;
const DOUBTED_MIN = 96;
/** A beginning of so many characters is judged at once. */
const JUDGED_CHARS_MAX = 16 * 1024;

/** `more`: the beginning says too little yet. `true`: it continues the text, less its first `overlap` characters, which the client has. */
export type Seam = { kind: 'more' } | { kind: 'false' } | { kind: 'true'; overlap: number };

const MORE: Seam = { kind: 'more' };
const FALSE: Seam = { kind: 'false' };
const TRUE: Seam = { kind: 'true', overlap: 0 };

/** Judges the beginning of a continuation by all that was delivered before it. What is in doubt is false. `isWhole`: nothing follows the beginning. */
export function judgeSeam(delivered: string, beginning: string, isWhole: boolean): Seam {
  const said = tokensOf(beginning);
  // More characters may follow the final word.
  if (!isWhole) said.pop();
  const isEnough = isWhole || beginning.length >= JUDGED_CHARS_MAX;
  if (!isEnough && said.length < JUDGED_MIN) return MORE;
  if (OPENINGS.some((isAnew) => isAnew(delivered, beginning))) return FALSE;
  const had = tokensOf(delivered);
  const bare = said.slice(wrappingOf(beginning, said));
  const isCut = isJoined(delivered, beginning);
  const overlap = overlapOf(had, said, isCut);
  const wrapped = bare.length < said.length ? overlapOf(had, bare, isCut) : overlap;
  if (!isEnough && (overlap.isOpen || wrapped.isOpen)) return MORE;
  if (isRestart(had.slice(wrappingOf(delivered, had)), bare)) return FALSE;
  const last = said[overlap.tokens - 1];
  if (overlap.isCut && last) {
    const characters = charactersOf(delivered, beginning, last);
    return characters === null ? FALSE : { kind: 'true', overlap: characters };
  }
  if (overlap.tokens > 0 || wrapped.tokens > 0) return FALSE;
  if (!isRestartLater(had, bare) && !isRepetition(...rejoined(had, bare, isCut))) return TRUE;
  return isEnough || said.length >= DOUBTED_MIN ? FALSE : MORE;
}

const OPENINGS = [isPreamble, isForeign, isFenceAnew, isSentenceAnew];

/** Returns the number of tokens around a repeated text: an opened block of code, quotes, dots. */
function wrappingOf(beginning: string, said: readonly Token[]): number {
  const wrapping = /^\s*(?:```[\w-]*\n|["'“„«….*>#\s]+)/u.exec(beginning)?.[0].length ?? 0;
  return said.filter(({ end }) => end <= wrapping).length;
}

/** Returns whether the text was cut within a word, by its characters. */
function isJoined(delivered: string, beginning: string): boolean {
  return /[\p{L}\p{M}\p{N}]$/u.test(delivered) && /^[\p{L}\p{M}\p{N}]/u.test(beginning);
}

/** A word that was cut within is the first of what follows. */
function rejoined(
  had: readonly Token[],
  said: readonly Token[],
  isCut: boolean,
): [readonly Token[], readonly Token[]] {
  const [last, first] = [had.at(-1), said[0]];
  if (!isCut || !last || !first || !isWord(first) || /\p{Script=Han}/u.test(last.word))
    return [had, said];
  return [had.slice(0, -1), [{ word: last.word + first.word, end: first.end }, ...said.slice(1)]];
}
