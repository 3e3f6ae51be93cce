import type { IncomingHttpHeaders } from 'node:http';
import { isTokenAuth, secretTexts, VERSION } from '@tollgate/contracts';
import { PROVIDERS, type SignedHeaders } from '@tollgate/protocols';
import type { SnapshotUpstream } from '@tollgate/snapshot';
import { passedIdentity } from '../http/caller-ids.ts';
import { gatewayFailure } from './upstream-failure.ts';
import type { OpenUpstream } from './upstream-pools.ts';

const USER_AGENT = `tollgate/${VERSION}`;

interface HeaderFacts {
  readonly protocolHeaders: Readonly<Record<string, string>>;
  readonly isStream: boolean;
  readonly clientHeaders: IncomingHttpHeaders;
  readonly rid: string;
  /** Is the span of this attempt while the node traces; otherwise the caller's is passed on. */
  readonly traceparent?: string | null;
}

type RequestFacts = HeaderFacts &
  Pick<SentRequest, 'method'> & {
    /** Is the path below the upstream's base_url. */
    readonly path: string;
    readonly body: Uint8Array | null;
  };

export interface SentRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly origin: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer | null;
  /** Holds the headers that authenticate the gateway to the provider. */
  proof: SignedHeaders;
}

/**
 * Returns the request as it is sent. The credential is added last, because it may sign everything else. Most providers take a fixed key, for which no
 * request waits.
 */
export function signedRequest(
  target: OpenUpstream,
  protocol: SnapshotUpstream['protocol'],
  { method, path, body, ...facts }: RequestFacts,
): SentRequest | Promise<SentRequest> {
  const sent = {
    method,
    origin: target.origin,
    path: `${target.pathPrefix}${path}`,
    headers: requestHeaders(target, facts),
    body: body && Buffer.from(body.buffer, body.byteOffset, body.byteLength),
    proof: NO_PROOF,
  };
  const { auth } = target;
  if (auth === null) return sent;
  const token = isTokenAuth(auth) ? validToken(target) : null;
  const signed = PROVIDERS[protocol].sign(sent, { auth, token, nowMs: target.clock.nowMs() });
  return signed instanceof Promise
    ? signed.then((more) => withHeaders(sent, more))
    : withHeaders(sent, signed);
}

const NO_PROOF: SignedHeaders = {};

function withHeaders(sent: SentRequest, more: SignedHeaders): SentRequest {
  Object.assign(sent.headers, more);
  sent.proof = more;
  return sent;
}

function validToken(target: OpenUpstream): string {
  const token = target.token();
  if (token !== null) return token;
  throw gatewayFailure('auth', 'The gateway has no valid provider token for the upstream.', {
    evidence: 'unsent',
  });
}

/** Matches a part of a header that is long enough to be a secret, a token or a signature. */
const PROOF_PART = /[^\s,=]{24,}/g;

/** Returns the texts of a request's credential that must not appear in an error or log: its secrets, and what was derived from them for this request. */
export function sentSecrets({ auth }: OpenUpstream, request: SentRequest | null): string[] {
  const proof = Object.values(request?.proof ?? NO_PROOF);
  return [
    ...(auth ? secretTexts(auth) : []),
    ...proof.flatMap((value) => [value, ...(value.match(PROOF_PART) ?? [])]),
  ];
}

/**
 * Builds the headers from an allow-list: headers that it does not name stay with the gateway, above all the caller's authorization and cookies
 * (security S31, S33).
 */
function requestHeaders(
  target: OpenUpstream,
  { protocolHeaders, isStream, clientHeaders, rid, traceparent = null }: HeaderFacts,
): Record<string, string> {
  return {
    ...target.headers,
    accept: isStream ? 'text/event-stream' : 'application/json',
    ...protocolHeaders,
    'content-type': 'application/json',
    // The gateway asks for no compression: an upstream that compresses delays events, and between data centres compression costs both sides more than it saves.
    'accept-encoding': 'identity',
    ...passedIdentity(clientHeaders, USER_AGENT),
    ...(traceparent !== null && { traceparent }),
    'x-request-id': rid,
  };
}

type Headers<Value> = Readonly<Record<string, Value | undefined>>;

/**
 * Returns the first value of each header; SDKs never repeat the ones that an exchange reads. It returns the given object when none is repeated,
 * because a copy of fifteen headers takes a microsecond.
 */
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
