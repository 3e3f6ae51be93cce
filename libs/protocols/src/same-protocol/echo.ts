import type { Ask } from '../exchange.ts';
import { list, text } from '../json/json-guard.ts';

/** Finds the part of a legacy completion's choice that repeats the request: with `echo` it begins with its prompt. The choices of one prompt are neighbours. */
export function echoOf({ body }: Pick<Ask, 'body'>, index: number): string {
  if (body['echo'] !== true) return '';
  const { prompt, n } = body;
  const perPrompt = typeof n === 'number' ? n : 1;
  return text(prompt) ?? text(list(prompt)[Math.floor(index / perPrompt)]) ?? '';
}
