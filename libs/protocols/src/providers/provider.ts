import type { FurtherEndpoint, ReportedUsage } from '@tollgate/contracts';
import type {
  Ask,
  ClientProtocol,
  Exchange,
  ExchangeRequest,
  StreamSink,
  ErrorWords,
} from '../exchange.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import type { StreamTap } from '../stream/stream-handler.ts';

/** One upstream protocol: all that differs between providers. `PROVIDERS` names each. */
export interface Provider {
  /** Headers that carry the upstream's key. */
  credential(apiKey: string): Record<string, string>;
  /** How clients are served, by the protocol they speak; absent where this protocol has no such endpoint. */
  readonly exchanges: Readonly<Partial<Record<ClientProtocol, ProviderExchange>>>;
  /** Of endpoints that only some upstreams of this protocol have. */
  readonly further?: Readonly<Partial<Record<FurtherEndpoint, ProviderExchange>>>;
  /** The smallest request of an upstream's connection test; null where the protocol has none of this kind. */
  probe(model: string, kind: ProbeKind): Probe | null;
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

/** How the answers of a protocol are read. */
export interface ProviderAnswers {
  openTap(sink: StreamSink): StreamTap & { observe(event: JsonRecord): void };
  /** Null when the JSON is no answer. */
  readWhole(answer: JsonRecord): WholeAnswer | null;
  /** The event stream that says the same as a JSON answer. */
  eventsOfWhole(answer: JsonRecord): string;
  /** The event that ends a stream, where the protocol has one. */
  isEnd(event: JsonRecord): boolean;
  /** `[DONE]` is the protocol's own end mark; elsewhere it is an addition of compatible servers. */
  readonly isEndedByDone: boolean;
  readonly errorWords?: ErrorWords;
}

/** What a JSON answer delivers, whatever its protocol. */
export interface WholeAnswer {
  /** Null when it reports none, or none that can be true. */
  readonly usage: ReportedUsage | null;
  /** All generated text, to be counted where usage is missing. */
  readonly outputText: string;
  /** Calls of tools in the output. */
  readonly calls: number;
  /** Arguments of those calls: members at the top of each. Read when they are asked for. */
  readonly callArguments: () => number;
  /** Native id of an answer that its upstream continues making. */
  readonly unfinished?: string | null;
}
