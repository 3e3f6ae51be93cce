import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { tokenArrayLength } from './embeddings.ts';
import type { DemoRequest } from './plan.ts';
import { textOf } from './text-of.ts';

/** An image of 1,024 by 1,024 pixels in OpenAI's high detail costs this: https://platform.openai.com/docs/guides/images-vision. */
const IMAGE_TOKENS = 765;

/** Returns the prompt tokens that the provider reports: the text's tokens, four for each message, and the same number for each image. */
export function promptTokens(request: DemoRequest): number {
  const tokens = tokenArrayLength(request.prompt);
  const texts = [
    request.system,
    request.input,
    tokens === 0 ? request.prompt : undefined,
    ...request.messages.map((message) => message.content),
  ].map(textOf);
  const words = texts.reduce((sum, text) => sum + countTokens(text), 0);
  const images = request.messages.flatMap(({ content }) => imagesIn(content)).length;
  return words + tokens + 4 * request.messages.length + IMAGE_TOKENS * images;
}

function imagesIn(content: unknown): unknown[] {
  const parts: { type?: unknown }[] = Array.isArray(content) ? content : [];
  return parts.filter((part) => part?.type === 'image' || part?.type === 'image_url');
}
