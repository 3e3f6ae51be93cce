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
  /** The span of this attempt, while the node traces; the caller's passes on otherwise. */
  readonly traceparent?: string | null;
}

type RequestFacts = HeaderFacts &
  Pick<SentRequest, 'method'> & {
    /** Below the upstream's base_url. */
    readonly path: string;
    readonly body: Uint8Array | null;
  };

export interface SentRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly origin: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer | null;
  /** The headers that prove to the provider who sends it. */
  proof: SignedHeaders;
}

/** The request as it is sent. Its credential comes last, as it may sign all that stands before it. Most providers take a fixed key, and no request waits for that. */
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

/** A part of a header that is long enough to be a secret, a token or a signature. */
const PROOF_PART = /[^\s,=]{24,}/g;

/** The texts of a request's credential that must appear in no error and no log: its secrets, and what was made of them for this request. */
export function sentSecrets({ auth }: OpenUpstream, request: SentRequest | null): string[] {
  const proof = Object.values(request?.proof ?? NO_PROOF);
  return [
    ...(auth ? secretTexts(auth) : []),
    ...proof.flatMap((value) => [value, ...(value.match(PROOF_PART) ?? [])]),
  ];
}

/** An allow-list: what is not named here stays with the gateway, above all the caller's authorization and cookies (security S31, S33). */
function requestHeaders(
  target: OpenUpstream,
  { protocolHeaders, isStream, clientHeaders, rid, traceparent = null }: HeaderFacts,
): Record<string, string> {
  return {
    ...target.headers,
    accept: isStream ? 'text/event-stream' : 'application/json',
    ...protocolHeaders,
    'content-type': 'application/json',
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
