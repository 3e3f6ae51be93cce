import { hash, randomBytes } from 'node:crypto';

/**
 * Matches API keys: `sk-tg-<account id, base 36>-<256 random bits, base64url>`. The account id determines the Redis shard, so admission needs no
 * lookup before its one round trip.
 */
const API_KEY_PATTERN = /^sk-tg-([0-9a-z]{1,11})-([A-Za-z0-9_-]{43})$/;
const DISPLAY_PREFIX_CHARS = 8;

export interface ParsedApiKey {
  accountId: number;
  /** Is the SHA-256 of the whole key in lower-case hex. Keys are stored and looked up only in this form. */
  hash: string;
}

export function issueApiKey(accountId: number): { key: string; hash: string; prefix: string } {
  const key = `sk-tg-${accountId.toString(36)}-${randomBytes(32).toString('base64url')}`;
  return {
    key,
    hash: hashApiKey(key),
    prefix: key.slice(0, key.lastIndexOf('-', key.length - 43) + 1 + DISPLAY_PREFIX_CHARS),
  };
}

/** Returns undefined for a text that cannot be an issued key. Callers answer it exactly as an unknown key (security S9). */
export function parseApiKey(text: string): ParsedApiKey | undefined {
  const match = API_KEY_PATTERN.exec(text);
  if (!match) return undefined;
  const accountId = Number.parseInt(match[1] as string, 36);
  if (!Number.isSafeInteger(accountId) || accountId < 1 || accountId.toString(36) !== match[1])
    return undefined;
  return { accountId, hash: hashApiKey(text) };
}

function hashApiKey(key: string): string {
  return hash('sha256', key);
}
