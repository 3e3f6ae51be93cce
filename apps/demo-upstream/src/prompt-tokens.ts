import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { tokenArrayLength } from './embeddings.ts';
import type { DemoRequest } from './plan.ts';
import { textOf } from './text-of.ts';

/** Returns the prompt tokens that the provider reports: the text's tokens and four for each message. */
export function promptTokens(request: DemoRequest): number {
  const tokens = tokenArrayLength(request.prompt);
  const texts = [
    request.system,
    request.input,
    tokens === 0 ? request.prompt : undefined,
    ...request.messages.map((message) => message.content),
  ].map(textOf);
  const words = texts.reduce((sum, text) => sum + countTokens(text), 0);
  return words + tokens + 4 * request.messages.length;
}
