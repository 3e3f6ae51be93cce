import type { ReportedUsage } from '@tollgate/contracts';
import type { ErrorWords, StreamSink } from '../exchange.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import type { StreamTap } from '../stream/stream-handler.ts';

/** Reads the answers of one protocol. */
export interface ProviderAnswers {
  openTap(sink: StreamSink): StreamTap & { observe(event: JsonRecord): void };
  /** Returns null when the JSON is not an answer. */
  readWhole(answer: JsonRecord): WholeAnswer | null;
  /** Returns the event stream with the content of a JSON answer. */
  eventsOfWhole(answer: JsonRecord): string;
  /** Returns whether the event ends a stream, where the protocol has such an event. */
  isEnd(event: JsonRecord): boolean;
  /** Is true when `[DONE]` is the protocol's own end mark; elsewhere compatible servers add it. */
  readonly isEndedByDone: boolean;
  readonly errorWords?: ErrorWords;
}

/** Holds the contents of a JSON answer of any protocol. */
export interface WholeAnswer {
  /** Is null when the answer reports no usage, or an impossible one. */
  readonly usage: ReportedUsage | null;
  /** Is all generated text, which is counted where usage is missing. */
  readonly outputText: string;
  /** Is the number of tool calls in the output. */
  readonly calls: number;
  /** Returns the number of top-level arguments of those calls. */
  readonly callArguments: () => number;
  /** Is the native id of an answer that its upstream is still making. */
  readonly unfinished?: string | null;
}
