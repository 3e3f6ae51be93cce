import type { ReportedUsage } from '@tollgate/contracts';
import type { StreamSink } from '../exchange.ts';
import { bufferOf, isRecord, parseJson, record } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { ResponsesTap } from '../answers/openai/responses-tap.ts';
import { SseFramer } from '../sse/sse-framer.ts';

/** Reads the events that a provider keeps of a stored response, for what they show of it. */
export class ResponseLog {
  /** An item of the model's reasoning has begun: not all of what it generates is shown. */
  hasReasoning = false;
  private readonly tap: ResponsesTap;
  private readonly framer = new SseFramer();

  constructor(sink: StreamSink) {
    this.tap = new ResponsesTap(sink);
  }

  /** The usage of the last event, where that has come. */
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
