import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Ask } from '@tollgate/protocols';
import { namedSession } from '../../http/named-scopes.ts';

/** Providers cache no prompt below about 1,024 tokens, so what begins alike for so many bytes is what can be found again. */
const CACHED_PREFIX_BYTES = 4_096;
/**
 * Returns the rank of a route, or of a credential on it, for a session, by weighted rendezvous hashing: every node of the fleet ranks alike without a memory, and a route that rests or is removed
 * moves its own sessions alone. The logarithm gives each route a share of the sessions that is proportional to its weight.
 */
export function rankFor(
  session: string,
  {
    id,
    weight,
    credentialId = 0,
  }: { id: number; weight: number; credentialId?: number | undefined },
): number {
  return -weight / Math.log(fraction(session, id ^ Math.imul(credentialId, 0x9e3779b1)));
}

/** Returns a number between 0 and 1, both excluded, that is uniform over sessions: FNV-1a, mixed as MurmurHash3 ends. */
function fraction(session: string, routeId: number): number {
  let mixed = 0x811c9dc5 ^ routeId;
  for (let at = 0; at < session.length; at += 1)
    mixed = Math.imul(mixed ^ session.charCodeAt(at), 0x01000193);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (((mixed ^ (mixed >>> 16)) >>> 0) + 0.5) / 2 ** 32;
}

/**
 * The session a request belongs to, as its client names it, else by what its body begins with; null for a short body that names none.
 * Always of one account and model: no account can steer or observe the sessions of another.
 */
export function sessionOf({
  accountId,
  modelId,
  headers,
  ask,
}: {
  accountId: number;
  modelId: number;
  headers: IncomingHttpHeaders;
  ask: Pick<Ask, 'body' | 'raw'>;
}): string | null {
  const named = namedSession(headers, ask.body);
  if (named === undefined && ask.raw.length < CACHED_PREFIX_BYTES) return null;
  const digest =
    named === undefined
      ? hash('sha256', ask.raw.subarray(0, CACHED_PREFIX_BYTES), 'base64url')
      : hash('sha256', `named ${named}`, 'base64url');
  return `${accountId}/${modelId}/${digest}`;
}
