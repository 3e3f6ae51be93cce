import type { FurtherEndpoint, ReportedUsage } from '@tollgate/contracts';
import type { Ask, ClientProtocol, Exchange, ExchangeRequest, ErrorWords } from '../exchange.ts';
import type { JsonRecord } from '../json/json-guard.ts';

/** One upstream protocol: all that differs between providers. `PROVIDERS` names each. */
export interface Provider {
  /** Headers that carry the upstream's key. */
  credential(apiKey: string): Record<string, string>;
  /** Serves clients, by the protocol they speak; absent where this protocol has no such endpoint. */
  readonly exchanges: Readonly<Partial<Record<ClientProtocol, ProviderExchange>>>;
  /** Endpoints that only some upstreams of this protocol have. */
  readonly further?: Readonly<Partial<Record<FurtherEndpoint, ProviderExchange>>>;
  /** The smallest request of an upstream's connection test; null where the protocol has none of this kind. */
  probe(model: string, kind: ProbeKind): Probe | null;
  /** Returns the usage that a JSON answer of the probe reports; null when it reports none. */
  readUsage(answer: JsonRecord): ReportedUsage | null;
  /** Codes and types of its errors that `errors/` does not know. */
  readonly errorWords?: ErrorWords;
}

export interface ProviderExchange {
  create(request: ExchangeRequest): Exchange;
  /** Requests and answers keep their own bytes. */
  readonly isNative: boolean;
  /** The part of a translation that may find no words: throws `InvalidRequest`. */
  check?(body: Ask['body'], upstreamModel: string): unknown;
}

export type ProbeKind = 'chat' | 'embedding';

export interface Probe {
  /** Appended to the upstream's base_url. */
  readonly path: string;
  readonly body: Readonly<JsonRecord>;
  readonly headers: Readonly<Record<string, string>>;
}
