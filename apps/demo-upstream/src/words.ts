/** The first 16, the usual answer, are a sentence. Each is one o200k token with its leading space, so n words are n tokens however they are joined. */
const WORDS = [
  ' the',
  ' gate',
  ' counts',
  ' every',
  ' token',
  ' that',
  ' passes',
  ' and',
  ' each',
  ' book',
  ' will',
  ' close',
  ' with',
  ' no',
  ' coin',
  ' lost',
  ' or',
  ' charged',
  ' again',
  ' at',
  ' night',
];

export function wordAt(index: number): string {
  return WORDS[index % WORDS.length] as string;
}

export function wordsUpTo(count: number): string {
  return Array.from({ length: count }, (_, index) => wordAt(index)).join('');
}
