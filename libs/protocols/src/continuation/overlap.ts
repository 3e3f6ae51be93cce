import { copiesOf } from './copies.ts';
import { hasLetters, isAt, type Token } from './tokens.ts';

/** Tokens of an overlap that is cut. A shorter one may be a word that the text doubles; one that reaches back further is a restart. */
const CUT_MIN = 4;
const CUT_MAX = 64;
/** Numbers and marks that stand on both sides of the seam are no accident from here on, unless the text has them elsewhere. */
const MARKS_MIN = 3;

/** Letters of a word that was cut within and is repeated whole: shorter ones are words of their own. */
const PART_MIN = 2;

/** The beginning repeats so many tokens of the text's end. `isOpen`: all of it stands somewhere in the text, so that it may still reach the end. */
export interface Overlap {
  readonly tokens: number;
  readonly isOpen: boolean;
  /** The text itself hardly says it twice. */
  readonly isCut: boolean;
}

/** Compares the beginning with the end of the text. `isJoined`: the text was cut within a word. */
export function overlapOf(
  had: readonly Token[],
  said: readonly Token[],
  isJoined: boolean,
): Overlap {
  const copies = copiesOf(had, said);
  const isOpen = copies.includes(said.length);
  const none = { tokens: 0, isOpen, isCut: false };
  const from = had.findIndex((_, at) =>
    reachesEnd(had, said, { at, length: copies[at] ?? 0, isJoined }),
  );
  if (from < 0) return none;
  const reach = had.length - from;
  const copy = said.slice(0, reach);
  // The text doubles what it says.
  if (isAt(had, copy, from - reach)) return none;
  const isElsewhere = copies.some((length, at) => at !== from && length >= reach);
  if (!hasLetters(copy) && (reach < MARKS_MIN || isElsewhere)) return none;
  const isCut =
    hasLetters(copy) && !isElsewhere && from > 0 && reach >= CUT_MIN && reach <= CUT_MAX;
  return { tokens: reach, isOpen, isCut };
}

function reachesEnd(
  had: readonly Token[],
  said: readonly Token[],
  { at, length, isJoined }: { at: number; length: number; isJoined: boolean },
): boolean {
  if (at + length === had.length) return length > 0;
  const last = had.at(-1)?.word ?? '';
  if (at + length !== had.length - 1 || (length === 0 && !isJoined && last.length < PART_MIN))
    return false;
  // A text that was cut within a word is repeated with the whole word.
  return said[length]?.word.startsWith(last) ?? false;
}

/**
 * Returns the number of characters of the beginning that the client has; null where they differ, or where the text may say them twice: across sentences and
 * lines. `last`: the final token of the overlap.
 */
export function charactersOf(delivered: string, beginning: string, last: Token): number | null {
  const isWithin = /[\p{L}\p{N}][ \t]*$/u.test(delivered);
  const lead = beginning.search(/\S/u);
  const space = beginning.slice(last.end).search(/\S|$/u);
  // The client may have the space behind the final word, too, or a part of that only.
  for (let end = last.end + space; end > last.end - last.word.length; end -= 1) {
    const copy = beginning.slice(lead, end);
    if (delivered.endsWith(copy)) return isWithin && !copy.includes('\n') ? end : null;
  }
  return null;
}
