import type { TokenUsage } from '@tollgate/contracts';
import type { ProviderAnswers } from '../answers/provider-answers.ts';
import type { ExchangeRequest } from '../exchange.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import type { EventFramer } from '../sse/sse-framer.ts';

export type Limits = Pick<ExchangeRequest, 'upstreamModel' | 'outputLimit'>;

/** A protocol of upstreams as a translation of messages, in pure functions. `State` is that of one answer. */
export interface MessagesDialect<State> {
  readonly answers: ProviderAnswers;
  readonly path: (model: string, isStream: boolean) => string;
  /** Headers of a stream, beside those of every request. */
  readonly streamHeaders?: Readonly<Record<string, string>>;
  /** Absent where streams are server-sent events. */
  readonly openFramer?: () => EventFramer;
  /** A messages body as one of this protocol. `chat` is the body that it was made from; null for a client of messages. Throws `InvalidRequest` naming what cannot be said. */
  readonly request: (body: JsonRecord, options: Limits & { chat: JsonRecord | null }) => JsonRecord;
  readonly start: (id: string, model: string) => State;
  /** One event of the upstream as events of messages. */
  readonly step: (state: State, event: JsonRecord) => readonly [State, readonly JsonRecord[]];
  /** The closing events; `isCutShort`: the gateway ended it as if its limit was reached. */
  readonly finish: (
    state: State,
    end: { usage: TokenUsage; isCutShort: boolean },
  ) => readonly JsonRecord[];
  /** The events of a stream that says what a whole answer says. */
  readonly eventsOf: (answer: JsonRecord) => readonly JsonRecord[];
}
