/** The first 16, the usual answer, are a sentence. Each is one o200k token with its leading space, so n words are n tokens however they are joined. */
const WORDS = [
  ' this',
  ' is',
  ' the',
  ' demo',
  ' answering',
  ' with',
  ' words',
  ' that',
  ' are',
  ' counted',
  ' one',
  ' by',
  ' one',
  ' for',
  ' your',
  ' balance',
  ' and',
  ' no',
  ' provider',
  ' is',
  ' called',
];

export function wordAt(index: number): string {
  return WORDS[index % WORDS.length] as string;
}

export function wordsUpTo(count: number): string {
  return Array.from({ length: count }, (_, index) => wordAt(index)).join('');
}
