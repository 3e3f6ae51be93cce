import type { TokenUsage } from '@tollgate/contracts';
import type { ProviderAnswers } from '../answers/provider-answers.ts';
import type { ExchangeRequest } from '../exchange.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import type { EventFramer } from '../sse/sse-framer.ts';

export type Limits = Pick<ExchangeRequest, 'upstreamModel' | 'outputLimit'>;

/** Translates between messages and an upstream protocol in pure functions. `State` is the state of one answer. */
export interface MessagesDialect<State> {
  readonly answers: ProviderAnswers;
  readonly path: (model: string, isStream: boolean) => string;
  /** Holds the headers of a stream, beside those of every request. */
  readonly streamHeaders?: Readonly<Record<string, string>>;
  /** Is absent where streams are server-sent events. */
  readonly openFramer?: () => EventFramer;
  /**
   * Converts a messages body to this protocol's. `chat` is the body that it was made from; it is null for a client of messages. Throws `InvalidRequest`
   * naming a field without a counterpart.
   */
  readonly request: (body: JsonRecord, options: Limits & { chat: JsonRecord | null }) => JsonRecord;
  readonly start: (id: string, model: string) => State;
  /** Converts one event of the upstream to events of messages. */
  readonly step: (state: State, event: JsonRecord) => readonly [State, readonly JsonRecord[]];
  /** Returns the closing events. `isCutShort` says that the gateway ended the stream as if its limit was reached. */
  readonly finish: (
    state: State,
    end: { usage: TokenUsage; isCutShort: boolean },
  ) => readonly JsonRecord[];
  /** Returns the events of a stream with the content of a whole answer. */
  readonly eventsOf: (answer: JsonRecord) => readonly JsonRecord[];
}
