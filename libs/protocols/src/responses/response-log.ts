import type { ReportedUsage } from '@tollgate/contracts';
import type { StreamSink } from '../exchange.ts';
import { bufferOf, isRecord, parseJson, record } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { ResponsesTap } from '../answers/openai/responses-tap.ts';
import { SseFramer } from '../sse/sse-framer.ts';

/** Reads the events that a provider keeps of a stored response, for the content that they show. */
export class ResponseLog {
  /** Is true when a reasoning item has begun, so that not all generated text is shown. */
  hasReasoning = false;
  private readonly tap: ResponsesTap;
  private readonly framer = new SseFramer();

  constructor(sink: StreamSink) {
    this.tap = new ResponsesTap(sink);
  }

  /** Returns the usage of the last event, when that has come. */
  get usage(): ReportedUsage | null {
    return this.tap.usage;
  }

  push(bytes: Uint8Array): void {
    const chunk = bufferOf(bytes);
    for (let at = 0; at < chunk.length; at = this.framer.eventEnd) {
      const event = this.framer.next(chunk, at);
      if (!event) return;
      const value = event.data === null ? undefined : parseJson(event.data);
      if (isRecord(value)) this.read(value);
    }
  }

  private read(event: JsonRecord): void {
    this.hasReasoning ||= record(event['item'])['type'] === 'reasoning';
    this.tap.observe(event);
  }
}
