import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { textOf, type DemoRequest } from './plan.ts';

/** Each is one o200k token with its leading space, so n words are n tokens however they are joined. */
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
  ' at',
  ' night',
  ' with',
  ' no',
  ' coin',
  ' lost',
  ' or',
  ' charged',
  ' again',
];

export function wordAt(index: number): string {
  return WORDS[index % WORDS.length] as string;
}

export function wordsUpTo(count: number): string {
  return Array.from({ length: count }, (_, index) => wordAt(index)).join('');
}

/** What the provider says the prompt cost: the text's tokens and four for each message. */
export function promptTokens(request: DemoRequest): number {
  const texts = [
    request.system,
    request.input,
    ...request.messages.map((message) => message.content),
  ].map(textOf);
  return texts.reduce((sum, text) => sum + countTokens(text), 0) + 4 * request.messages.length;
}
