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

export function hasLetters(tokens: readonly Token[]): boolean {
  return tokens.some(({ word }) => /\p{L}/u.test(word));
}

/** Returns where `part` stands among the tokens. */
export function placesOf(tokens: readonly Token[], part: readonly Token[]): number[] {
  const [first] = part;
  return tokens.flatMap((token, at) =>
    token.word === first?.word && isAt(tokens, part, at) ? [at] : [],
  );
}

export function isAt(tokens: readonly Token[], part: readonly Token[], at: number): boolean {
  return part.every(({ word }, place) => tokens[at + place]?.word === word);
}
