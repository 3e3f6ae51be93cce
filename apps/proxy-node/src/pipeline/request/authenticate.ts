import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { parseApiKey, type ParsedApiKey } from '@tollgate/contracts';
import { Refusal } from '../../refusals.ts';

/** Keys presented, in the order in which they are tried; never empty. Whether one is valid is decided where the live record is read. */
export type Credentials = readonly [ParsedApiKey, ...ParsedApiKey[]];

/** More than the longest key ever issued; a longer one is not worth hashing. */
const KEY_CHARS_MAX = 256;

/**
 * Takes the key from `Authorization: Bearer` and from `x-api-key`: SDKs of both protocols use either (docs/design/protocols.md#keys-and-versions), and a stale one beside
 * a good one is common. No I/O. Throws Refusal when no key is presented at all.
 */
export function authenticate(headers: IncomingHttpHeaders): Credentials {
  const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
  const apiKey = headers['x-api-key'];
  const texts = [bearer, typeof apiKey === 'string' ? apiKey.trim() : undefined].filter(
    (text): text is string => text !== undefined && text !== '' && text.length <= KEY_CHARS_MAX,
  );
  const wellFormed = [...new Set(texts)].map(parseApiKey).filter((key) => key !== undefined);
  const [first, ...rest] = wellFormed;
  if (first) return [first, ...rest];
  const [text] = texts;
  if (text === undefined) throw new Refusal('invalid_api_key');
  return [decoy(text)];
}

/** A key that was never issued takes the way of an unknown one, so that response and timing do not disclose which it was (security S9). */
function decoy(text: string): ParsedApiKey {
  const hash = createHash('sha256').update(text).digest('hex');
  return { accountId: Number.parseInt(hash.slice(0, 8), 16) + 1, hash };
}
