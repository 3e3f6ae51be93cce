import { hash } from 'node:crypto';
import type { Ask, PromptCaching } from '../exchange.ts';
import { bufferOf, isRecord, list } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';

/** Providers cache no prompt below about 1,024 tokens. */
const CACHED_BYTES_MIN = 4_096;
/** Marks the whole request: the provider sets its mark after the last block (https://platform.claude.com/docs/en/build-with-claude/prompt-caching). */
const MARK = '"cache_control":{"type":"ephemeral"}';
const OPENS_HEAD: ReadonlySet<unknown> = new Set(['system', 'developer']);

/**
 * Returns the body with a derived key or a mark as its last member; the same body where the client has set one itself, or the prompt is too short for
 * a cache.
 */
export function withPromptCache(
  body: Uint8Array,
  { ask, path, caching }: { ask: Ask; path: string; caching: PromptCaching },
): Uint8Array {
  if (ask.raw.length < CACHED_BYTES_MIN) return body;
  const member = memberFor(body, { ask, path, caching });
  if (member === null) return body;
  const bytes = bufferOf(body);
  const end = bytes.lastIndexOf('}');
  return Buffer.concat([bytes.subarray(0, end), Buffer.from(`,${member}`), bytes.subarray(end)]);
}

function memberFor(
  body: Uint8Array,
  { ask, path, caching }: { ask: Ask; path: string; caching: PromptCaching },
): string | null {
  switch (path) {
    case '/messages':
      return caching.marks && !bufferOf(body).includes('"cache_control"') ? MARK : null;
    case '/chat/completions':
    case '/responses':
      return keyMember(ask, caching.accountId);
    default:
      return null;
  }
}

/** Derives a stable key of what all requests of one application begin with: the system prompt and the tools. */
function keyMember({ body }: Ask, accountId: number): string | null {
  if ('prompt_cache_key' in body) return null;
  const parts = [body['system'], body['instructions'], body['tools'], headOf(body)];
  if (parts.every((part) => part === undefined || part === null)) return null;
  const key = hash('sha256', JSON.stringify([accountId, parts]), 'base64url');
  return `"prompt_cache_key":"tg-${key}"`;
}

/** Returns the messages before the first one of a user; null where there are none. */
function headOf(body: JsonRecord): readonly unknown[] | null {
  const turns = list(body['messages'] ?? body['input']);
  const length = turns.findIndex((turn) => !isRecord(turn) || !OPENS_HEAD.has(turn['role']));
  const head = length < 0 ? turns : turns.slice(0, length);
  return head.length === 0 ? null : head;
}
