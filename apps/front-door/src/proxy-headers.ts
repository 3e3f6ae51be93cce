import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { callerAddress, isTrustedProxy, type AddressRange } from '@tollgate/contracts';

/** Lists headers that are for one connection only and never passed on (RFC 9110 7.6.1). Transfer-Encoding is separate: it states how the body is framed. */
const HOP_BY_HOP = [
  'connection',
  'proxy-connection',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
  'proxy-authenticate',
  'proxy-authorization',
];
/** Lists headers that only a trusted proxy may set; a client could pose as another address by them (security S40). */
const FORWARDED = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-real-ip',
];
/** Deleting these would change what the message says, so a Connection header cannot ask for it. */
const NEVER_NAMED = new Set(['host', 'content-length', 'transfer-encoding', 'authorization']);

/** Makes the request's headers fit to be passed on. Changes them in place, as the proxy library reads them from the request. */
export function cleanRequestHeaders(
  { headers, socket }: IncomingMessage,
  trusted: readonly AddressRange[],
): void {
  const { host } = headers;
  const peer = socket.remoteAddress ?? '';
  const caller = callerAddress(peer, String(headers['x-forwarded-for'] ?? ''), trusted);
  const isEncrypted = headers['x-forwarded-proto'] === 'https' && isTrustedProxy(peer, trusted);
  removeHopByHop(headers);
  for (const name of FORWARDED) delete headers[name];
  // The server has already answered 100-continue.
  delete headers.expect;
  headers['x-forwarded-for'] = caller;
  headers['x-forwarded-proto'] = isEncrypted ? 'https' : 'http';
  if (host !== undefined) headers['x-forwarded-host'] = host;
}

/** Does the same for the answer; `isLast` keeps the client's wish to close its own connection. */
export function cleanResponseHeaders(headers: IncomingHttpHeaders, isLast: boolean): void {
  removeHopByHop(headers);
  // Framing is per connection: Node frames the answer again.
  delete headers['transfer-encoding'];
  headers.connection = isLast ? 'close' : 'keep-alive';
}

function removeHopByHop(headers: IncomingHttpHeaders): void {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  for (const name of [...HOP_BY_HOP, ...named.filter((name) => !NEVER_NAMED.has(name))])
    delete headers[name];
}
