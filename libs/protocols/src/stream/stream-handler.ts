import type { TokenUsage } from '@tollgate/contracts';
import type { UpstreamError } from '../exchange.ts';
import type { ByteOutput } from '../sse/byte-output.ts';
import type { SseEvent } from '../sse/sse-framer.ts';

/** What differs between the pairs of protocols; `EventStreamReader` does the rest. */
export interface StreamHandler {
  onEvent(event: SseEvent, out: ByteOutput): void;
  /** The upstream closed the connection. */
  onEnd(out: ByteOutput): void;
  fail(error: UpstreamError, out: ByteOutput): void;
  finishEarly(usage: TokenUsage, out: ByteOutput): void;
  /** The upstream's event stream that says the same as a JSON answer: some answer JSON to `stream: true` (behaviour 34). */
  eventsOfWhole(answer: unknown): string;
  readonly keepAlive: string;
  readonly state: 'running' | 'finished' | 'failed';
  readonly error: UpstreamError | null;
  readonly hasContent: boolean;
  readonly hasFinish: boolean;
  readonly usage: TokenUsage | null;
  readonly isUsageFinal: boolean;
}
