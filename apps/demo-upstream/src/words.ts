/** The first 16 words, the usual answer, are a sentence. Each word with its leading space is one o200k token, so n words are n tokens in any combination. */
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
