import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { DemoRequest } from './plan.ts';
import { textOf } from './text-of.ts';

/** What the provider says the prompt cost: the text's tokens and four for each message. */
export function promptTokens(request: DemoRequest): number {
  const texts = [
    request.system,
    request.input,
    ...request.messages.map((message) => message.content),
  ].map(textOf);
  return texts.reduce((sum, text) => sum + countTokens(text), 0) + 4 * request.messages.length;
}
