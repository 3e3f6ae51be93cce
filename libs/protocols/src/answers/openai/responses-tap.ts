import { greaterReport, type ReportedUsage } from '@tollgate/contracts';
import type { StreamSink } from '../../exchange.ts';
import { nonEmpty, record, text } from '../../json/json-guard.ts';
import type { JsonRecord } from '../../json/json-guard.ts';
import type { StreamTap } from '../../stream/stream-handler.ts';
import { readResponsesUsage } from './responses-usage.ts';
import { deltaText, isReasoning, isToolCall, responseOf } from './response-text.ts';

/** These items have no content when they begin. Any other item is a running tool of the provider, which is billed. */
const SILENT_ITEMS: ReadonlySet<unknown> = new Set(['message', 'reasoning']);

/** Observes a stream of /v1/responses: usage, generated text, and whether it finished. Changes nothing. */
export class ResponsesTap implements StreamTap {
  usage: ReportedUsage | null = null;
  hasContent = false;
  hasFinish = false;
  /** Is the id of a background response; null for any other. */
  backgroundId: string | null = null;
  private hasLastUsage = false;
  private readonly sink: StreamSink;

  constructor(sink: StreamSink) {
    this.sink = sink;
  }

  observe(event: JsonRecord): void {
    const type = event['type'];
    const { id, background } = responseOf(event);
    if (background === true) this.backgroundId ??= nonEmpty(id);
    if (isLastEvent(type)) {
      this.usage = greaterReport(this.usage, readResponsesUsage(responseOf(event)));
      this.hasLastUsage = this.usage !== null;
      this.hasFinish = type === 'response.completed' || type === 'response.incomplete';
    } else if (type === 'response.output_item.added') this.itemBegan(record(event['item']));
    else this.generated(deltaText(event), !isReasoning(event));
  }

  /** Only the last event has figures. */
  isUsageFinal(): boolean {
    return this.hasLastUsage;
  }

  private itemBegan(item: JsonRecord): void {
    if (!SILENT_ITEMS.has(item['type'])) this.hasContent = true;
    if (!isToolCall(item)) return;
    this.sink.call?.();
    this.generated(text(item['name']) ?? '', true);
  }

  private generated(words: string, isShown: boolean): void {
    if (words === '') return;
    this.hasContent = true;
    this.sink.output(words, isShown);
  }
}

export function isLastEvent(type: unknown): boolean {
  return (
    type === 'response.completed' ||
    type === 'response.incomplete' ||
    type === 'response.failed' ||
    type === 'response.cancelled'
  );
}
