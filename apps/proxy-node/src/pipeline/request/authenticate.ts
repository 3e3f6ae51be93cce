import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { parseApiKey, type ParsedApiKey } from '@tollgate/contracts';
import type { Asking } from '../../observe/incident-log.ts';
import { Refusal } from '../../refusals.ts';

/** Holds the presented keys in the order in which they are tried; never empty. Whether one is valid is decided where the live record is read. */
export type Credentials = readonly [ParsedApiKey, ...ParsedApiKey[]];

/** Is more than the longest key ever issued; a longer one is not worth hashing. */
const KEY_CHARS_MAX = 256;

/**
 * Takes the key from `Authorization: Bearer` and from `x-api-key`, or `x-goog-api-key` without one: SDKs of both protocols use either (docs/design/protocols.md#keys-and-versions), and a stale one beside
 * a good one is common. O. Throws/O. Throws Refusal when no key is presented at all.
 */
export function authenticate(headers: IncomingHttpHeaders): Credentials {
  const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
  const apiKey = headers['x-api-key'] ?? headers['x-goog-api-key'];
  const texts = [bearer, typeof apiKey === 'string' ? apiKey.trim() : undefined].filter(
    isPlausible,
  );
  const [text, other] = texts;
  const key = text === undefined ? undefined : parseApiKey(text);
  const second = other === undefined || other === text ? undefined : parseApiKey(other);
  if (key) return second ? [key, second] : [key];
  if (second) return [second];
  if (text === undefined) throw new Refusal('invalid_api_key');
  return [decoy(text)];
}

/** Names the caller of a refused request. A node that takes no requests has not looked for keys. */
export function askingOf(credentials: Credentials | undefined, model: string | null): Asking {
  return { keyHashes: credentials?.map(({ hash }) => hash) ?? [], model };
}

function isPlausible(text: string | undefined): text is string {
  return text !== undefined && text !== '' && text.length <= KEY_CHARS_MAX;
}

/** A key that was never issued takes the way of an unknown one, so that response and timing do not disclose which it was (security S9). */
function decoy(text: string): ParsedApiKey {
  const hash = createHash('sha256').update(text).digest('hex');
  return { accountId: Number.parseInt(hash.slice(0, 8), 16) + 1, hash };
}
