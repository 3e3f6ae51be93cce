import type { Ask } from '../exchange.ts';
import {
  isRecord,
  list,
  nonEmpty,
  numberOf,
  parseJson,
  record,
  records,
  text,
} from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { SseFramer, type SseEvent } from '../sse/sse-framer.ts';

/** Bounds the client's bytes of an answer that another upstream may be asked for again, some 60 tokens: few longer ones are repeated word for word, and every stream keeps them. */
const REPEATED_BYTES_MAX = 16 * 1024;
/** Stand in the first event of a tool call, and not in a text, whose quotes are escaped. One that is written otherwise is kept until the answer breaks off. */
const TOOL_CALLS = {
  chat: ['"tool_calls":[{', '"tool_calls": [{'],
  messages: ['"tool_use"'],
} as const;

/** Bounds the events that answers keep: each by itself, and all together. */
export interface KeptRoom {
  /** Returns false where there is no room for so many more bytes of an answer that keeps `had`. */
  take(bytes: number, had: number): boolean;
  giveBack(bytes: number): void;
}

/** Says how another upstream may end an answer. */
interface Kept {
  readonly isContinued?: boolean;
  /** Is null where nothing bounds what answers keep. */
  readonly room?: KeptRoom | null;
  /** Is true where the model may call tools of the client. */
  readonly hasTools?: boolean;
}

/**
 * Holds what the client has received of one stream, read from the client's own bytes, so that it is the same for every upstream. Only an answer that is a
 * single plain text so far can be continued: no tool call, no thinking, no refusal, no second choice, and no finish.
 */
export class Delivered {
  readonly protocol: 'chat' | 'messages';
  readonly #isContinued: boolean;
  readonly #room: KeptRoom | null;
  readonly #toolCalls: readonly string[];
  /** Holds error events that were kept back. */
  unsaid: Uint8Array = new Uint8Array();
  readonly #unread: Uint8Array[] = [];
  #bytes = 0;
  #parts: string[] = [];
  #isPlain = true;
  #isFinished = false;
  /** Is the id of the first chat chunk: every later one must have it. */
  identity: { id: unknown; created: unknown } | null = null;
  /** Is the text block of messages that is open, and `nextBlock` the index after the last one. */
  openBlock: number | null = null;
  nextBlock = 0;

  constructor(
    protocol: 'chat' | 'messages',
    { isContinued = true, room = null, hasTools = false }: Kept = {},
  ) {
    this.protocol = protocol;
    this.#isContinued = isContinued;
    this.#room = room;
    this.#toolCalls = hasTools ? TOOL_CALLS[protocol] : [];
  }

  /** Is true while another upstream may write the rest of the answer, whatever its length, and not only repeat a short one. */
  get isContinued(): boolean {
    return this.#isContinued && this.#isPlain;
  }

  get text(): string {
    this.#settle();
    if (this.#parts.length > 1) this.#parts = [this.#parts.join('')];
    return this.#parts[0] ?? '';
  }

  get canBeContinued(): boolean {
    this.#settle();
    return this.#isPlain && !this.#isFinished && this.#parts.length > 0;
  }

  /** Returns whether another upstream may be asked for the whole answer again. */
  get canBeRepeated(): boolean {
    return this.canBeContinued && this.#bytes <= REPEATED_BYTES_MAX;
  }

  /** Keeps what the client gets; it is read when the answer breaks off. `bytes` are whole events, without an error. */
  keep(bytes: Uint8Array): void {
    if (!this.#isPlain) return;
    const more = bytes.byteLength;
    const isTooLong = !this.#isContinued && this.#bytes + more > REPEATED_BYTES_MAX;
    if (isTooLong || this.#room?.take(more, this.#bytes) === false) return this.drop();
    this.#bytes += more;
    this.#unread.push(bytes);
    if (this.#toolCalls.some((mark) => bufferOf(bytes).includes(mark))) this.#dropUnlessPlain();
  }

  #dropUnlessPlain(): void {
    this.#settle();
    if (!this.#isPlain) this.drop();
  }

  /** Keeps nothing from here on: no other upstream can end the answer. */
  drop(): void {
    this.#isPlain = false;
    this.#unread.length = 0;
    this.#parts.length = 0;
    this.#room?.giveBack(this.#bytes);
    this.#bytes = 0;
  }

  #settle(): void {
    for (const bytes of this.#unread.splice(0)) this.observe(bytes);
  }

  /** Returns `bytes`, whole events for the client, without an error event, which the client must not see while the answer may be continued. */
  observe(bytes: Uint8Array): Uint8Array {
    this.#settle();
    const events = new SseFramer().push(bytes);
    const said = events.filter((event) => this.#reads(event));
    if (said.length < events.length)
      this.unsaid = bytesOf(events.filter((event) => !said.includes(event)));
    return bytesOf(said);
  }

  /** Returns false for an error. */
  #reads({ data, isDone }: SseEvent): boolean {
    const value = data === null || isDone ? undefined : parseJson(data);
    if (!isRecord(value)) return true;
    if (value['type'] === 'error' || isRecord(value['error'])) return false;
    if (this.protocol === 'chat') this.#readChunk(value);
    else this.#readMessageEvent(value);
    return true;
  }

  #readChunk(chunk: JsonRecord): void {
    this.identity ??= { id: chunk['id'], created: chunk['created'] };
    const choices = records(chunk['choices']);
    for (const { index, delta, finish_reason: finish } of choices) {
      const said = record(delta);
      if (nonEmpty(finish) !== null) this.#isFinished = true;
      if ((index ?? 0) !== 0 || !isPlainDelta(said)) this.#isPlain = false;
      this.#add(said['content']);
    }
  }

  #readMessageEvent(event: JsonRecord): void {
    const index = numberOf(event['index']);
    switch (event['type']) {
      case 'content_block_start': {
        const block = record(event['content_block']);
        if (block['type'] !== 'text') this.#isPlain = false;
        this.openBlock = index;
        this.nextBlock = index + 1;
        return this.#add(block['text']);
      }
      case 'content_block_delta': {
        const delta = record(event['delta']);
        if (delta['type'] !== 'text_delta') this.#isPlain = false;
        return this.#add(delta['text']);
      }
      case 'content_block_stop':
        this.openBlock = null;
        return;
      case 'message_delta':
        if (text(record(event['delta'])['stop_reason']) !== null) this.#isFinished = true;
        return;
    }
  }

  #add(piece: unknown): void {
    const words = nonEmpty(piece);
    if (words !== null) this.#parts.push(words);
  }
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function bytesOf(events: readonly SseEvent[]): Uint8Array {
  return Buffer.concat(events.map(({ raw }) => raw));
}

/** Returns whether a delta of a chat chunk has plain text, or nothing. */
export function isPlainDelta(delta: JsonRecord): boolean {
  const isText =
    delta['content'] === null || ['string', 'undefined'].includes(typeof delta['content']);
  return (
    isText &&
    Object.entries(delta).every(
      ([name, value]) => name === 'role' || name === 'content' || isEmpty(value),
    )
  );
}

function isEmpty(value: unknown): boolean {
  return (
    value === null ||
    value === undefined ||
    value === '' ||
    (Array.isArray(value) && value.length === 0)
  );
}

/** Returns a reader of what a stream of this request delivers; null where its answer must not be continued: structured output, thinking, several choices, tools of the provider. */
export function deliveredOf(
  { protocol, body, choices, serverTools, isStream }: Ask,
  kept: Kept = {},
): Delivered | null {
  if (!isStream || choices !== 1 || serverTools.length > 0) return null;
  if (protocol !== 'chat' && protocol !== 'messages') return null;
  const last = record(list(body['messages']).at(-1));
  // The client sent a prefill of its own: what follows it is no answer by itself.
  if (last['role'] === 'assistant') return null;
  const isRefused = protocol === 'chat' ? isStructuredChat(body) : isStructuredMessage(body);
  if (isRefused || asksForThinking(body)) return null;
  return new Delivered(protocol, { ...kept, hasTools: list(body['tools']).length > 0 });
}

function isStructuredChat(body: JsonRecord): boolean {
  const format = record(body['response_format'])['type'];
  return (format !== undefined && format !== 'text') || body['logprobs'] === true;
}

function isStructuredMessage(body: JsonRecord): boolean {
  const format = record(body['output_config'])['format'] ?? body['output_format'];
  return format !== undefined && format !== null;
}

/** Returns whether a request has its model think before it speaks. */
export function asksForThinking(body: JsonRecord): boolean {
  const thinking = text(record(body['thinking'])['type']);
  const effort = body['reasoning_effort'] ?? record(body['reasoning'])['effort'];
  return (
    (thinking !== null && thinking !== 'disabled') ||
    (effort !== undefined && effort !== null && effort !== 'none')
  );
}
