import {
  NO_OUTPUT,
  withMoreOutput,
  type ReportedUsage,
  type TokenUsage,
} from '@tollgate/contracts';
import type { StreamReader, UpstreamError } from '../exchange.ts';
import { isRecord, parseJson, record, records, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { dataEvent, namedEvent } from '../sse/sse-format.ts';
import { SseFramer, type SseEvent } from '../sse/sse-framer.ts';
import { toChatUsage } from '../usage/chat-usage.ts';
import { toMessagesUsage } from '../usage/messages-usage.ts';
import type { Delivered } from './delivered.ts';

const MARK = ': the answer is continued by another upstream\n\n';

export interface ContinuedOptions {
  readonly delivered: Delivered;
  /** See `ContinuationAsk`. */
  readonly trimmed: string;
  /** The charge of the answer up to the cut: the prompt, and the output that was delivered. */
  readonly charged: TokenUsage;
}

/**
 * A second upstream's stream as the rest of the first one's: no second start, the first one's id, blocks counted on, and usage of the whole answer. What the
 * second upstream thinks before it continues is dropped. Wraps a reader whose bytes are the client's protocol, whatever its upstream speaks.
 */
export class ContinuedReader implements StreamReader {
  readonly #inner: StreamReader;
  readonly #options: ContinuedOptions;
  /** Set once the whole usage is known, so that it is written as it is. */
  #total: TokenUsage | null = null;
  #hasMark = false;
  #isBeforeText = true;
  /** The client's text block, open since before the cut. */
  #openBlock: number | null;
  /** The second upstream's block indexes to the client's; null for a block that is dropped. */
  readonly #blocks = new Map<unknown, number | null>();
  #nextBlock: number;

  constructor(inner: StreamReader, options: ContinuedOptions) {
    this.#inner = inner;
    this.#options = options;
    this.#openBlock = options.delivered.openBlock;
    this.#nextBlock = options.delivered.nextBlock;
  }

  push(bytes: Uint8Array): Uint8Array {
    return this.#continue(this.#inner.push(bytes));
  }

  end(): Uint8Array {
    return this.#continue(this.#inner.end());
  }

  close(usage: TokenUsage): Uint8Array {
    this.#total = usage;
    return this.#continue(this.#inner.close(usage));
  }

  fail(error: UpstreamError): Uint8Array {
    return this.#inner.fail(error);
  }

  finishEarly(usage: TokenUsage): Uint8Array {
    this.#total = usage;
    return this.#continue(this.#inner.finishEarly(usage));
  }

  keepAlive(): Uint8Array {
    return this.#inner.keepAlive();
  }

  get state(): StreamReader['state'] {
    return this.#inner.state;
  }

  get error(): UpstreamError | null {
    return this.#inner.error;
  }

  /** The client has some since before the cut. */
  get hasContent(): boolean {
    return true;
  }

  get hasFinish(): boolean {
    return this.#inner.hasFinish;
  }

  get usage(): ReportedUsage | null {
    return this.#inner.usage;
  }

  get isUsageFinal(): boolean {
    return this.#inner.isUsageFinal;
  }

  #continue(bytes: Uint8Array): Uint8Array {
    const texts = new SseFramer().push(bytes).map((event) => this.#rewritten(event));
    const said = texts.join('');
    if (said === '' || this.#hasMark) return Buffer.from(said);
    this.#hasMark = true;
    return Buffer.from(MARK + said);
  }

  #rewritten(event: SseEvent): string {
    const { data, isDone, raw } = event;
    const value = data === null || isDone ? undefined : parseJson(data);
    if (!isRecord(value) || value['type'] === 'error' || isRecord(value['error']))
      return raw.toString('utf8');
    return this.#options.delivered.protocol === 'chat'
      ? this.#chunk(value)
      : this.#messageEvent(value)
          .map((each) => namedEvent({ ...each, type: text(each['type']) ?? '' }))
          .join('');
  }

  #chunk(chunk: JsonRecord): string {
    const { delivered } = this.#options;
    const choices = records(chunk['choices']).map((choice) => ({
      ...choice,
      delta: this.#delta(record(choice['delta'])),
    }));
    const usage = isRecord(chunk['usage']) ? toChatUsage(this.#whole) : null;
    const isSilent = choices.every(
      (choice) => Object.keys(choice.delta).length === 0 && !Reflect.get(choice, 'finish_reason'),
    );
    if (isSilent && usage === null) return '';
    return dataEvent({
      ...chunk,
      ...delivered.identity,
      choices,
      ...(usage !== null && { usage }),
    });
  }

  #delta({
    role: _role,
    reasoning_content: _thought,
    reasoning: _too,
    content,
    ...rest
  }: JsonRecord): JsonRecord {
    const words = this.#firstWords(content);
    const said = Object.entries(rest).filter(([, value]) => value !== null && value !== '');
    return {
      ...Object.fromEntries(said),
      ...(typeof words === 'string' && words !== '' && { content: words }),
    };
  }

  #messageEvent(event: JsonRecord): JsonRecord[] {
    switch (event['type']) {
      case 'message_start':
        return [];
      case 'content_block_start':
        return this.#blockStart(event);
      case 'content_block_delta':
      case 'content_block_stop':
        return this.#inBlock(event);
      case 'message_delta':
        return [...this.#closeBlock(), { ...event, usage: toMessagesUsage(this.#whole) }];
      default:
        return [event];
    }
  }

  #blockStart(event: JsonRecord): JsonRecord[] {
    const { type } = record(event['content_block']);
    const isThought = type === 'thinking' || type === 'redacted_thinking';
    const joins = type === 'text' && this.#openBlock !== null;
    if (isThought || joins) {
      this.#blocks.set(event['index'], joins ? this.#openBlock : null);
      return [];
    }
    const closing = this.#closeBlock();
    const index = this.#nextBlock;
    this.#nextBlock += 1;
    this.#blocks.set(event['index'], index);
    return [...closing, { ...event, index }];
  }

  #inBlock(event: JsonRecord): JsonRecord[] {
    const index = this.#blocks.get(event['index']) ?? null;
    if (index === null) return [];
    if (event['type'] === 'content_block_stop') {
      if (index === this.#openBlock) this.#openBlock = null;
      return [{ ...event, index }];
    }
    const delta = record(event['delta']);
    if (delta['type'] !== 'text_delta') return [{ ...event, index }];
    const words = this.#firstWords(delta['text']);
    return words === '' ? [] : [{ ...event, index, delta: { ...delta, text: words } }];
  }

  #closeBlock(): JsonRecord[] {
    if (this.#openBlock === null) return [];
    const index = this.#openBlock;
    this.#openBlock = null;
    return [{ type: 'content_block_stop', index }];
  }

  /** White space that the client has already and the upstream could not be shown is not repeated. */
  #firstWords(words: unknown): unknown {
    if (!this.#isBeforeText || typeof words !== 'string') return words;
    const left = this.#options.trimmed === '' ? words : words.trimStart();
    if (left !== '') this.#isBeforeText = false;
    return left;
  }

  /** The prompt once, and the output of both. */
  get #whole(): TokenUsage {
    if (this.#total !== null) return this.#total;
    return withMoreOutput(this.#options.charged, this.#inner.usage ?? NO_OUTPUT);
  }
}
