import type { IncomingHttpHeaders } from 'node:http';
import { VERSION } from '@tollgate/contracts';
import { PROVIDERS } from '@tollgate/protocols';
import type { SnapshotUpstream } from '@tollgate/snapshot';
import { passedIdentity } from '../http/caller-ids.ts';
import type { OpenUpstream } from './upstream-pools.ts';

const USER_AGENT = `tollgate/${VERSION}`;

/** An allow-list: what is not named here stays with the gateway, above all the caller's authorization and cookies (security S31, S33). */
export function requestHeaders(
  target: OpenUpstream,
  protocol: SnapshotUpstream['protocol'],
  {
    protocolHeaders,
    isStream,
    clientHeaders,
    rid,
    traceparent = null,
  }: {
    protocolHeaders: Readonly<Record<string, string>>;
    isStream: boolean;
    clientHeaders: IncomingHttpHeaders;
    rid: string;
    /** Of this attempt, while the node traces; the caller's passes on otherwise. */
    traceparent?: string | null;
  },
): Record<string, string> {
  return {
    ...target.headers,
    ...protocolHeaders,
    ...(target.apiKey === null ? {} : PROVIDERS[protocol].credential(target.apiKey)),
    'content-type': 'application/json',
    accept: isStream ? 'text/event-stream' : 'application/json',
    // Compression would have the upstream hold events back, and costs both sides more than it saves between data centres.
    'accept-encoding': 'identity',
    ...passedIdentity(clientHeaders, USER_AGENT),
    ...(traceparent !== null && { traceparent }),
    'x-request-id': rid,
  };
}

type Headers<Value> = Readonly<Record<string, Value | undefined>>;

/** First value of each header; SDKs never repeat the ones an exchange looks at. The very headers where none is repeated: a copy of fifteen takes a microsecond. */
export function singleHeaders(headers: Headers<string | string[]>): Headers<string> {
  if (areSingle(headers)) return headers;
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
  );
}

function areSingle(headers: Headers<string | string[]>): headers is Headers<string> {
  for (const name in headers) if (Array.isArray(headers[name])) return false;
  return true;
}
