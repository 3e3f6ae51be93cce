import type { FurtherEndpoint, ReportedUsage, UpstreamAuth } from '@tollgate/contracts';
import type {
  Ask,
  ClientProtocol,
  Exchange,
  ExchangeRequest,
  ErrorWords,
  Speech,
} from '../exchange.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import type { ModelList } from './model-list.ts';

/** Describes one upstream protocol: all that differs between providers. `PROVIDERS` names each. */
export interface Provider {
  /** Returns the headers that prove to the provider who sends the request. */
  sign(request: UnsignedRequest, signing: Signing): SignedHeaders | Promise<SignedHeaders>;
  /** Serves clients, by the protocol they speak; absent where this protocol has no such endpoint. */
  readonly exchanges: Readonly<Partial<Record<ClientProtocol, ProviderExchange>>>;
  /** Holds endpoints that only some upstreams of this protocol have. */
  readonly further?: Readonly<Partial<Record<FurtherEndpoint, ProviderExchange>>>;
  /** Returns the smallest request of an upstream's connection test; null where the protocol has none of this kind. */
  probe(model: string, kind: ProbeKind, speech: Speech): Probe | null;
  /** Lists the models at the upstream's own address; null where the provider has no such list there. */
  readonly models: ModelList | null;
  /** Returns the usage that a JSON answer of the probe reports; null when it reports none. */
  readUsage(answer: JsonRecord): ReportedUsage | null;
  /** Returns whether a model continues natively from a last message that has the beginning of its answer; absent where none does. */
  continuesPrefill?(model: string): boolean;
  /** Holds codes and types of its errors that `errors/` does not know. */
  readonly errorWords?: ErrorWords;
}

/** Describes a request as it leaves, but for the headers that `sign` adds. */
export interface UnsignedRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly origin: string;
  /** Is the path as it is sent, with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
}

export interface Signing {
  /** Is the credential of the upstream, of a kind that the protocol takes. */
  readonly auth: UpstreamAuth;
  /** Is the provider token of an identity that has one (`isTokenAuth`); null for every other credential. */
  readonly token: string | null;
  readonly nowMs: number;
}

/** Has lower-case names. */
export type SignedHeaders = Readonly<Record<string, string>>;

export interface ProviderExchange {
  create(request: ExchangeRequest): Exchange;
  /** Requests and answers keep their own bytes. */
  readonly isNative: boolean;
  /** Is the part of a translation that may find no words; it throws `InvalidRequest`. */
  check?(body: Ask['body'], upstreamModel: string, ask: Ask): unknown;
}

/** Returns the key of a credential that is one. */
export function keyOf({ auth }: Signing): string {
  if (auth.type !== 'api_key') throw new Error(`an API key is needed, not ${auth.type}`);
  return auth.api_key;
}

/** Returns the token of an identity that has one. */
export function tokenOf({ token }: Signing): string {
  if (token === null) throw new Error('a provider token is needed');
  return token;
}

export type ProbeKind = 'chat' | 'embedding';

export interface Probe {
  /** Is appended to the upstream's base_url. */
  readonly path: string;
  readonly body: Readonly<JsonRecord>;
  readonly headers: Readonly<Record<string, string>>;
}
