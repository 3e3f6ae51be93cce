import { isRecord, nonEmpty, parseJson } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';

/** Marks `encrypted_content` that contains an Anthropic thinking block, so that another vendor's is never mistaken for one (behaviour 29). */
const SEAL = 'tg1.';

/**
 * Returns a thinking block as the opaque text that a stateless /v1/responses client sends back with its next turn; null when the block could not be
 * used again.
 */
export function sealThinking(block: JsonRecord): string | null {
  return isReusable(block) ? SEAL + Buffer.from(JSON.stringify(block)).toString('base64url') : null;
}

export function unsealThinking(sealed: unknown): JsonRecord | null {
  if (typeof sealed !== 'string' || !sealed.startsWith(SEAL)) return null;
  const block = parseJson(Buffer.from(sealed.slice(SEAL.length), 'base64url'));
  return isRecord(block) && isReusable(block) ? block : null;
}

/** Anthropic accepts its thinking back only with the signature that it gave. */
export function isReusable(block: JsonRecord): boolean {
  if (block['type'] === 'redacted_thinking') return nonEmpty(block['data']) !== null;
  return (
    block['type'] === 'thinking' &&
    typeof block['thinking'] === 'string' &&
    nonEmpty(block['signature']) !== null
  );
}
