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
import { clientErrorBody, upstreamClientError } from '../errors/client-error.ts';
import { upstreamError } from '../errors/upstream-error.ts';
import type { Delivered } from './delivered.ts';
import { SeamGate } from './seam-gate.ts';

const MARK = ': the answer is continued by another upstream\n\n';

export interface ContinuedOptions {
  readonly delivered: Delivered;
  /** Is the text that the attempt has to say first: see `ContinuationAsk`, or all that was delivered where the whole answer is asked for again. */
  readonly anchor: string;
  /** Is true when the attempt says the whole answer, whose usage is its own: one that thinks first is refused, because the client pays for it and gets no thoughts. */
  readonly isWhole: boolean;
  /** Is the charge of the answer up to the cut: the prompt, and the output that was delivered. */
  readonly charged: TokenUsage;
  /** Is the id of the request. */
  readonly rid: string;
}

/**
 * Reads a second upstream's stream as the rest of the first one's: no second start, the first one's id, blocks counted on, and usage of the whole answer. What the
 * second upstream thinks before it continues is dropped, and its beginning is kept back until it has repeated the anchor, which is cut: one that does not
 * fails, and the client sees nothing of it. It wraps a reader whose bytes are the client's protocol, whatever its upstream speaks.
 */
export class ContinuedReader implements StreamReader {
  readonly #inner: StreamReader;
  readonly #options: ContinuedOptions;
  /** Is set once the whole usage is known, so that it is written as it is. */
  #total: TokenUsage | null = null;
  #hasMark = false;
  /** Is the client's text block, which is open since before the cut. */
  #openBlock: number | null;
  /** Maps the second upstream's block indexes to the client's; null for a block that is dropped. */
  readonly #blocks = new Map<unknown, number | null>();
  #nextBlock: number;
  readonly #gate: SeamGate;
  /** Holds events that are kept back until the gate is passed. */
  #held: SseEvent[] = [];
  #refusal: UpstreamError | null = null;
  /** Counts the characters of the overlap that are still to be cut. */
  #cut = 0;

  constructor(inner: StreamReader, options: ContinuedOptions) {
    this.#inner = inner;
    this.#options = options;
    const { anchor, delivered, isWhole } = options;
    this.#openBlock = delivered.openBlock;
    this.#nextBlock = delivered.nextBlock;
    this.#gate = new SeamGate(anchor, { protocol: delivered.protocol, mayThink: !isWhole });
  }

  push(bytes: Uint8Array): Uint8Array {
    return this.#continue(this.#inner.push(bytes));
  }

  end(): Uint8Array {
    return this.#continue(this.#inner.end());
  }

  close(usage: TokenUsage): Uint8Array {
    this.#total = usage;
    this.#gate.end();
    return this.#continue(this.#inner.close(usage));
  }

  fail(error: UpstreamError): Uint8Array {
    this.#held = [];
    return this.#inner.fail(error);
  }

  finishEarly(usage: TokenUsage): Uint8Array {
    this.#total = usage;
    const bytes = this.#inner.finishEarly(usage);
    if (!this.isWithheld) return this.#continue(bytes);
    // Text that is not known yet to continue the answer is not part of it.
    this.#held = [];
    return this.#refusal ? NO_BYTES : this.#written(new SseFramer().push(bytes));
  }

  keepAlive(): Uint8Array {
    return this.#inner.keepAlive();
  }

  get state(): StreamReader['state'] {
    return this.#refusal ? 'failed' : this.#inner.state;
  }

  get error(): UpstreamError | null {
    return this.#refusal ?? this.#inner.error;
  }

  /** Nothing of it was delivered: it is kept back, or refused. */
  get isWithheld(): boolean {
    return this.#gate.verdict !== 'true';
  }

  get isRefused(): boolean {
    return this.#refusal !== null;
  }

  /** Is text of its own that was not delivered, as the client had it. */
  get overlap(): string {
    return this.#gate.overlap;
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
    if (this.#refusal) return NO_BYTES;
    const events = new SseFramer().push(bytes);
    const passed = this.isWithheld ? this.#passed(events) : events;
    return this.#refusal ? this.#refusalBytes(this.#refusal) : this.#written(passed);
  }

  #written(events: readonly SseEvent[]): Uint8Array {
    const said = events.map((event) => this.#rewritten(event)).join('');
    if (said === '' || this.#hasMark) return Buffer.from(said);
    this.#hasMark = true;
    return Buffer.from(MARK + said);
  }

  /** Returns what may be passed on now. */
  #passed(events: readonly SseEvent[]): SseEvent[] {
    this.#held.push(...events);
    for (const event of events) this.#gate.read(valueOf(event) ?? {});
    if (this.#inner.state === 'finished') this.#gate.end();
    if (this.#gate.verdict === 'true') {
      this.#cut = this.#gate.overlap.length;
      return this.#held.splice(0);
    }
    if (this.#inner.state === 'failed') {
      this.#held = [];
      return events.filter((event) => isError(valueOf(event) ?? {}));
    }
    if (this.#gate.verdict === 'false')
      this.#refusal = upstreamError('server', { message: 'The upstream broke off.' });
    return [];
  }

  /** An upstream whose answer has ended has no words for an error any more. */
  #refusalBytes(refusal: UpstreamError): Uint8Array {
    const bytes = this.#inner.fail(refusal);
    if (bytes.byteLength > 0) return bytes;
    const { protocol } = this.#options.delivered;
    const body = record(clientErrorBody(protocol, upstreamClientError(refusal, this.#options.rid)));
    return Buffer.from(
      protocol === 'chat' ? dataEvent(body) : namedEvent({ ...body, type: 'error' }),
    );
  }

  #rewritten(event: SseEvent): string {
    const value = valueOf(event);
    if (value === null || isError(value)) return event.raw.toString('utf8');
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
    const words = this.#withoutOverlap(content);
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
    const words = this.#withoutOverlap(delta['text']);
    return words === '' ? [] : [{ ...event, index, delta: { ...delta, text: words } }];
  }

  #closeBlock(): JsonRecord[] {
    if (this.#openBlock === null) return [];
    const index = this.#openBlock;
    this.#openBlock = null;
    return [{ type: 'content_block_stop', index }];
  }

  /** The client has the anchor already. */
  #withoutOverlap(words: unknown): unknown {
    if (this.#cut === 0 || typeof words !== 'string') return words;
    const rest = words.slice(this.#cut);
    this.#cut -= words.length - rest.length;
    return rest;
  }

  /** Counts the prompt once, and the output of both. */
  get #whole(): TokenUsage {
    if (this.#total !== null) return this.#total;
    if (this.#options.isWhole && this.#inner.usage) return this.#inner.usage;
    return withMoreOutput(this.#options.charged, this.#inner.usage ?? NO_OUTPUT);
  }
}

const NO_BYTES = new Uint8Array();

function valueOf({ data, isDone }: SseEvent): JsonRecord | null {
  const value = data === null || isDone ? undefined : parseJson(data);
  return isRecord(value) ? value : null;
}

function isError(value: JsonRecord): boolean {
  return value['type'] === 'error' || isRecord(value['error']);
}
