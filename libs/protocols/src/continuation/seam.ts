import { contextOf, copiesOf, isWord, tokensOf, type Token } from './copies.ts';
import { isParaphrase } from './paraphrase.ts';
import { isFenceAnew, isPreamble, isSentenceAnew } from './preamble-words.ts';

/** Tokens of the continuation that are judged, at least. */
const JUDGED_MIN = 24;
/** A beginning of so many characters is judged at once; one that is all copied is a restart. */
const JUDGED_CHARS_MAX = 16 * 1024;
/** Tokens of a copy that are no accident: from the beginning of the text, and from elsewhere in it. */
const RESTART_MIN = 3;
const COPY_MIN = 7;
/** Tokens of an overlap at the seam that is cut. A shorter one may be a word that the text doubles; one that reaches back further is a restart. */
const OVERLAP_MIN = 4;
const OVERLAP_MAX = 64;
/** Tokens before a passage that stand at the end of the text, too: the text takes the same course again. */
const CONTEXT_MIN = 4;

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
  const had = tokensOf(delivered);
  const bare = said.slice(wrappingOf(beginning, said));
  const copies = copiesOf(had, bare);
  const isEnough = isWhole || beginning.length >= JUDGED_CHARS_MAX;
  if (!isEnough && (said.length < JUDGED_MIN || copies.some((length) => length === bare.length)))
    return MORE;
  if (
    isPreamble(delivered, beginning) ||
    isFenceAnew(delivered, beginning) ||
    isSentenceAnew(delivered, beginning) ||
    isRestartLater(had, said)
  )
    return FALSE;
  const seam = judgeCopies(had, bare, copies);
  if (seam.kind === 'false') return FALSE;
  if (seam.kind === 'true' && seam.overlap > 0)
    return bare.length === said.length ? exactOverlap(delivered, beginning, seam.overlap) : FALSE;
  return isParaphrase(had, said) ? FALSE : TRUE;
}

/** Returns the number of tokens around a repeated text: an opened block of code, quotes, dots. */
function wrappingOf(beginning: string, said: readonly Token[]): number {
  const wrapping = /^\s*(?:```[\w-]*\n|["'“„«….*>#\s]+)/u.exec(beginning)?.[0].length ?? 0;
  return said.filter(({ end }) => end <= wrapping).length;
}

function judgeCopies(had: readonly Token[], said: readonly Token[], copies: Int32Array): Seam {
  const longest = copies.reduce((most, length) => Math.max(most, length), 0);
  if (longest === 0) return TRUE;
  const reach = copies.find((length, from) => length > 0 && from + length === had.length) ?? 0;
  if (reach > 0) return judgeOverlap(had, said, { copies, longest, reach });
  const isOfBeginning = (copies[0] ?? 0) >= Math.min(RESTART_MIN, had.length);
  const isLong = longest >= COPY_MIN;
  return (isOfBeginning || isLong) && !isOwnCourse(had, copies, longest) ? FALSE : TRUE;
}

/** `reach`: tokens of the longest copy that reaches the end of the delivered text. */
function judgeOverlap(
  had: readonly Token[],
  said: readonly Token[],
  { copies, longest, reach }: { copies: Int32Array; longest: number; reach: number },
): Seam {
  const from = had.length - reach;
  // The text doubles what it says: the end of it stands there twice, and perhaps a third time now.
  if (reach === longest && from > 0 && contextOf(had, from, reach) === reach) return TRUE;
  if (!said.slice(0, reach).some(isLetters)) return longest < OVERLAP_MIN ? TRUE : FALSE;
  const isElsewhere = copies.some((length, at) => at !== from && length >= reach);
  const isCell = said[0] !== undefined && !isWord(said[0]);
  if (isElsewhere) return isCell && reach < OVERLAP_MIN && longest < COPY_MIN ? TRUE : FALSE;
  const isCut = reach === longest && from > 0 && reach >= OVERLAP_MIN && reach <= OVERLAP_MAX;
  return isCut ? { kind: 'true', overlap: said[reach - 1]?.end ?? 0 } : FALSE;
}

/** The passage stands twice in the text already, or follows the same words again. */
function isOwnCourse(had: readonly Token[], copies: Int32Array, longest: number): boolean {
  let times = 0;
  for (let from = 0; from < copies.length; from += 1) {
    if ((copies[from] ?? 0) < longest) continue;
    times += 1;
    if (times > 1 || contextOf(had, from, CONTEXT_MIN) === CONTEXT_MIN) return true;
  }
  return false;
}

/** Returns whether the text starts from its beginning after words that no list has. */
function isRestartLater(had: readonly Token[], said: readonly Token[]): boolean {
  const first = had.slice(0, Math.min(COPY_MIN, had.length - 1)).map(({ word }) => word);
  if (first.length < RESTART_MIN) return false;
  const isAt = (tokens: readonly Token[], at: number): boolean =>
    first.every((word, place) => tokens[at + place]?.word === word);
  if (had.some((_, at) => at > 0 && isAt(had, at))) return false;
  return said.some((_, at) => at > 0 && isAt(said, at));
}

function isLetters(token: Token): boolean {
  return isWord(token) && /\p{L}/u.test(token.word);
}

/** Cut are the very characters that the client has, and within a line and a sentence only: those may be said twice. */
function exactOverlap(delivered: string, beginning: string, end: number): Seam {
  const isWithin = /[\p{L}\p{N}][ \t]*$/u.test(delivered);
  const lead = beginning.search(/\S/u);
  // The client may have a part of the final word only.
  for (let overlap = end; overlap > lead; overlap -= 1) {
    const copy = beginning.slice(lead, overlap);
    if (!delivered.endsWith(copy)) continue;
    return isWithin && !copy.includes('\n') ? { kind: 'true', overlap } : FALSE;
  }
  return FALSE;
}
