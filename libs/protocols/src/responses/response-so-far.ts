import type { TokenUsage } from '@tollgate/contracts';
import { isRecord, numberOf, record, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import type { TypedRecord } from '../sse/sse-format.ts';
import { toResponsesUsage } from '../usage/responses-usage.ts';
import { responseObject } from './response-object.ts';
import type { ResponseFrame } from './response-object.ts';

interface OpenMessage {
  item: JsonRecord;
  /** Holds the complete parts. */
  parts: JsonRecord[];
  /** Holds the text of the open part. */
  words: string;
}

/** Keeps the content of a /v1/responses stream, for an end that its upstream does not send: after a failure, or at a limit of the gateway. */
export class ResponseSoFar {
  private readonly frame: ResponseFrame;
  private response: JsonRecord | null = null;
  private sequence = 0;
  /** Maps positions in the output to items. */
  private readonly done = new Map<number, JsonRecord>();
  private readonly open = new Map<number, OpenMessage>();

  constructor(frame: ResponseFrame) {
    this.frame = frame;
  }

  follow(event: JsonRecord): void {
    if (typeof event['sequence_number'] === 'number') this.sequence = event['sequence_number'] + 1;
    if (isRecord(event['response'])) this.response = event['response'];
    const at = numberOf(event['output_index']);
    const message = this.open.get(at);
    switch (event['type']) {
      case 'response.output_item.added':
        if (record(event['item'])['type'] === 'message')
          this.open.set(at, { item: record(event['item']), parts: [], words: '' });
        return;
      case 'response.output_item.done':
        this.open.delete(at);
        this.done.set(at, record(event['item']));
        return;
      case 'response.output_text.delta':
        if (message) message.words += text(event['delta']) ?? '';
        return;
      case 'response.content_part.done':
        if (message) this.open.set(at, wholePart(message, record(event['part'])));
    }
  }

  failed(error: JsonRecord): TypedRecord {
    const { code, message } = error;
    const response = {
      ...this.base,
      status: 'failed',
      error: { code: code ?? 'server_error', message },
      output: this.output,
    };
    return this.numbered({ type: 'response.failed', response });
  }

  /** Returns the end of an answer that met its limit: incomplete text is closed, and an incomplete call is omitted, so that no client runs it. */
  cut(usage: TokenUsage): TypedRecord[] {
    const closing = [...this.open].flatMap(([at, message]) => this.closed(at, message));
    const response = {
      ...this.base,
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: this.output,
      usage: toResponsesUsage(usage),
    };
    return [...closing, this.numbered({ type: 'response.incomplete', response })];
  }

  private closed(at: number, { item, parts, words }: OpenMessage): TypedRecord[] {
    const part = { type: 'output_text', text: words, annotations: [], logprobs: [] };
    const whole = { ...item, status: 'incomplete', content: [...parts, part] };
    const place = { item_id: item['id'], output_index: at, content_index: parts.length };
    this.open.delete(at);
    this.done.set(at, whole);
    return [
      this.numbered({ type: 'response.output_text.done', ...place, text: words, logprobs: [] }),
      this.numbered({ type: 'response.content_part.done', ...place, part }),
      this.numbered({ type: 'response.output_item.done', output_index: at, item: whole }),
    ];
  }

  private get base(): JsonRecord {
    return this.response ?? responseObject(this.frame, 'in_progress', []);
  }

  private get output(): JsonRecord[] {
    return [...this.done].toSorted(([one], [other]) => one - other).map(([, item]) => item);
  }

  private numbered(event: TypedRecord): TypedRecord {
    const sequence_number = this.sequence;
    this.sequence += 1;
    return { ...event, sequence_number };
  }
}

function wholePart({ item, parts }: OpenMessage, part: JsonRecord): OpenMessage {
  return { item, parts: [...parts, part], words: '' };
}
