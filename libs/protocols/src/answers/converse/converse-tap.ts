import { greaterReport, type ReportedUsage } from '@tollgate/contracts';
import type { StreamSink } from '../../exchange.ts';
import { isRecord, record, type JsonRecord } from '../../json/json-guard.ts';
import type { StreamTap } from '../../stream/stream-handler.ts';
import { generatedBy, startedCall } from './converse-events.ts';
import { readConverseUsage } from './converse-usage.ts';

/** Reads along a ConverseStream, whose last event reports the usage. */
export class ConverseTap implements StreamTap {
  usage: ReportedUsage | null = null;
  hasContent = false;
  hasFinish = false;
  readonly #sink: StreamSink;

  constructor(sink: StreamSink) {
    this.#sink = sink;
  }

  observe(event: JsonRecord): void {
    const call = startedCall(event);
    if (call !== null) {
      this.#sink.call?.();
      this.#generate(call, true);
    }
    const { text, thought, call: piece } = generatedBy(event);
    this.#generate(text, true);
    this.#generate(thought, false);
    this.#generate(piece, true);
    this.hasFinish ||= isRecord(event['messageStop']);
    const reported = readConverseUsage(record(event['metadata'])['usage']);
    this.usage = greaterReport(this.usage, reported);
  }

  isUsageFinal(): boolean {
    return this.usage !== null;
  }

  #generate(text: string, isShown: boolean): void {
    if (text === '') return;
    this.hasContent = true;
    this.#sink.output(text, isShown);
  }
}
