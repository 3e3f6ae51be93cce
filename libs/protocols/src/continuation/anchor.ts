/** Is the number of letters and digits that an anchor has; `LETTERS_MIN` is the fewest where less was delivered. */
const LETTERS = 12;
const LETTERS_MIN = 3;
/** An anchor of more characters is not asked for: the text repeats itself. */
const CHARS_MAX = 600;

/** Scripts that write words without spaces: each of their characters may be the first of a word. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const WORD = new RegExp(
  `${UNSPACED.source}\\p{M}*|(?:(?!${UNSPACED.source})[\\p{L}\\p{M}\\p{N}])+`,
  'gu',
);
const LETTER = /[\p{L}\p{M}\p{N}]/u;
const LETTERS_OF = new RegExp(LETTER, 'gu');

/**
 * Returns the end of the delivered text that a continuation has to repeat first: whole words, as few as have twelve letters and stand at no other
 * place. An answer that starts again, apologises or says the text in other words begins differently. It returns null where no end is like that.
 */
export function anchorOf(delivered: string): string | null {
  // The first one may be the rest of a word, or the whole text, which only a short one repeats.
  const [first = 0, ...later] = wordStarts(delivered);
  const start =
    later.findLast((at) => isAnchor(delivered, at, LETTERS)) ??
    [...later, first].find((at) => isAnchor(delivered, at, LETTERS_MIN));
  return start === undefined ? null : delivered.slice(start);
}

function isAnchor(delivered: string, start: number, letters: number): boolean {
  return lettersOf(delivered.slice(start)) >= letters && isOnlyPlace(delivered, start);
}

function wordStarts(delivered: string): number[] {
  const from = Math.max(0, delivered.length - CHARS_MAX);
  return Array.from(delivered.slice(from).matchAll(WORD), ({ index }) => from + index);
}

function lettersOf(text: string): number {
  return text.match(LETTERS_OF)?.length ?? 0;
}

/** Returns whether no other word of the text begins what stands here. */
function isOnlyPlace(delivered: string, start: number): boolean {
  const words = delivered.slice(start).trimEnd();
  for (let at = delivered.indexOf(words); at < start; at = delivered.indexOf(words, at + 1))
    if (isWordStart(delivered, at)) return false;
  return true;
}

function isWordStart(text: string, at: number): boolean {
  const first = String.fromCodePoint(text.codePointAt(at) ?? 0);
  return at === 0 || UNSPACED.test(first) || !LETTER.test(text.slice(at - 1, at));
}
