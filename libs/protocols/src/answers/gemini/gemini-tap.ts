import { greaterReport, type ReportedUsage } from '@tollgate/contracts';
import type { StreamSink } from '../../exchange.ts';
import { isRecord, type JsonRecord } from '../../json/json-guard.ts';
import type { StreamTap } from '../../stream/stream-handler.ts';
import { finishOf, partsOf, partText } from './gemini-parts.ts';
import { readGeminiUsage } from './gemini-usage.ts';

/** Reads along a stream of Gemini. Its figures are cumulative, and those before the last event are no report of the end. */
export class GeminiTap implements StreamTap {
  usage: ReportedUsage | null = null;
  hasContent = false;
  hasFinish = false;
  readonly #sink: StreamSink;

  constructor(sink: StreamSink) {
    this.#sink = sink;
  }

  observe(event: JsonRecord): void {
    this.usage = greaterReport(this.usage, readGeminiUsage(event['usageMetadata']));
    for (const part of partsOf(event)) {
      if (isRecord(part['functionCall'])) this.#sink.call?.();
      const generated = partText(part);
      if (generated === '') continue;
      this.hasContent = true;
      this.#sink.output(generated, part['thought'] !== true);
    }
    this.hasFinish ||= finishOf(event) !== null;
  }

  isUsageFinal(hasEnded: boolean): boolean {
    return this.usage !== null && (this.hasFinish || hasEnded);
  }
}
