/** A word, a character of a script without spaces, a punctuation mark or the end of a line. */
export interface Token {
  readonly word: string;
  /** Index after its last character. */
  readonly end: number;
}

const TOKEN =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{M}\p{N}]+|\n|[^\s\p{L}\p{M}\p{N}]/gu;
const WORD = /^[\p{L}\p{M}\p{N}]/u;

export function tokensOf(text: string): Token[] {
  return Array.from(text.matchAll(TOKEN), ({ 0: word, index }) => ({
    word: word.toLowerCase(),
    end: index + word.length,
  }));
}

export function isWord({ word }: Token): boolean {
  return WORD.test(word);
}

/**
 * Returns for each delivered token how many tokens from there the beginning repeats: the Z-function, in linear time. Where the delivered text was cut within
 * a word, a longer word of the beginning repeats that, too.
 */
export function copiesOf(had: readonly Token[], said: readonly Token[]): Int32Array {
  const ids = new Map<string, number>();
  const idOf = ({ word }: Token): number => {
    const id = ids.get(word) ?? ids.size + 1;
    ids.set(word, id);
    return id;
  };
  const all = Int32Array.from([...said.map(idOf), 0, ...had.map(idOf)]);
  const copies = zOf(all).slice(said.length + 1);
  const last = had.at(-1)?.word ?? '';
  for (let from = 0; from < had.length; from += 1) {
    const length = copies[from] ?? 0;
    const word = said[length]?.word;
    if (from + length === had.length - 1 && word?.startsWith(last)) copies[from] = length + 1;
  }
  return copies;
}

function zOf(all: Int32Array): Int32Array {
  const z = new Int32Array(all.length);
  for (let at = 1, left = 0, right = 0; at < all.length; at += 1) {
    let length = at < right ? Math.min(right - at, z[at - left] ?? 0) : 0;
    while (at + length < all.length && all[length] === all[at + length]) length += 1;
    z[at] = length;
    if (at + length > right) [left, right] = [at, at + length];
  }
  return z;
}

/** Returns how many tokens before `from` are the last ones of the text, too; at most `max`. */
export function contextOf(had: readonly Token[], from: number, max: number): number {
  let length = 0;
  while (
    length < max &&
    length < from &&
    had[from - 1 - length]?.word === had[had.length - 1 - length]?.word
  )
    length += 1;
  return length;
}
