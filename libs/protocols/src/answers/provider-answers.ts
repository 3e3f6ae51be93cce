import type { ReportedUsage } from '@tollgate/contracts';
import type { ErrorWords, StreamSink } from '../exchange.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import type { StreamTap } from '../stream/stream-handler.ts';

/** Reads the answers of a protocol. */
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

/** The contents that a JSON answer of any protocol delivers. */
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
