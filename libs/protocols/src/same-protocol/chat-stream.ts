import type { TokenUsage } from '@tollgate/contracts';
import { clientErrorBody, upstreamClientError } from '../errors/client-error.ts';
import { readInBandError, upstreamError } from '../errors/upstream-error.ts';
import type { StoredIds, StreamSink, UpstreamError } from '../exchange.ts';
import { isRecord, parseJson, record, records } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { applyPatches } from '../json/json-splice.ts';
import type { ByteOutput } from '../sse/byte-output.ts';
import { COMMENT_EVENT, dataEvent, DONE_EVENT } from '../sse/sse-format.ts';
import type { SseEvent } from '../sse/sse-framer.ts';
import { madeIdentity } from '../stream/made-identity.ts';
import type { Identity } from '../stream/made-identity.ts';
import { StreamHandler } from '../stream/stream-handler.ts';
import { ChatTap } from '../answers/openai/chat-tap.ts';
import { toChatUsage } from '../usage/chat-usage.ts';
import { editChunk } from './chat-chunk-edits.ts';
import type { ChunkEdits, EditedChunk } from './chat-chunk-edits.ts';
import { ChunkTemplate } from './chunk-template.ts';
import { completionEvents } from '../answers/openai/completion-events.ts';

export interface ChatStreamOptions {
  /** Is the name that the client asked for. */
  model: string;
  wantsStreamUsage: boolean;
  /** Is absent where nothing is stored. */
  ids?: StoredIds | undefined;
  idSeed: string;
  sink: StreamSink;
}

/**
 * Carries chat to chat. Every event leaves as its own bytes but for the closed list of docs/translation.md: model value, first chunk's role and id,
 * usage removed, or moved right before [DONE].
 */
export class ChatStream extends StreamHandler {
  readonly keepAlive = COMMENT_EVENT;
  private readonly options: ChatStreamOptions;
  protected readonly tap: ChatTap;
  /** Is the id and model of the first chunk that has an id; the gateway's own chunks have it too. */
  private identity: Identity | null = null;
  /** Azure sends a first chunk without id and model; it waits for the second to lend it one (behaviour 22). */
  private nameless: SseEvent[] = [];
  /** Is the upstream's own usage chunk, kept back until [DONE]. */
  private usageChunk: SseEvent | null = null;
  private endMark: Uint8Array = Buffer.from(DONE_EVENT);
  private readonly choicesWithRole = new Set<unknown>();
  /** Is the last chunk that was parsed whole. */
  private template: ChunkTemplate | null = null;

  constructor(options: ChatStreamOptions) {
    super();
    this.options = options;
    this.tap = new ChatTap(options.sink);
  }

  eventsOfWhole(answer: unknown): string {
    return completionEvents(record(answer));
  }

  protected read(event: SseEvent, out: ByteOutput): void {
    // An event that came in several pieces has not been tried with `readAlike` yet.
    if (this.template && event.isPieced && this.readAlike(event.raw, 0, out) > 0) return;
    if (event.data === null) return out.add(event.raw);
    if (event.isHollow) return out.addText(COMMENT_EVENT);
    if (event.isDone) {
      this.endMark = event.raw;
      return this.finish(out);
    }
    const chunk = parseJson(event.data);
    if (!isRecord(chunk)) return this.fail(upstreamError('unreadable'), out);
    const error = readInBandError(chunk);
    this.tap.observe(chunk);
    if (error) return this.fail(error, out);
    // A messages-style ping would break OpenAI clients: "choices is not iterable" (docs/design/protocols.md#streams).
    if (chunk['type'] === 'ping') return out.addText(COMMENT_EVENT);
    this.relay(event, chunk, out);
  }

  protected override readAlike(bytes: Buffer, start: number, out: ByteOutput): number {
    const alike = this.template?.write(bytes, start, out);
    if (!alike) return start;
    this.tap.generated(alike.text, alike.isShown);
    return alike.end;
  }

  protected writeEnd(usage: TokenUsage, out: ByteOutput): void {
    for (const waiting of this.nameless)
      this.write(waiting, record(parseJson(waiting.data ?? '')), out);
    if (this.options.wantsStreamUsage) this.writeUsage(usage, out);
    out.add(this.endMark);
  }

  protected writeFailure(error: UpstreamError, out: ByteOutput): void {
    out.addText(
      dataEvent(clientErrorBody('chat', upstreamClientError(error, this.options.idSeed))),
    );
  }

  protected writeCut(usage: TokenUsage, out: ByteOutput): void {
    const isFirst = this.choicesWithRole.size === 0;
    const indexes = isFirst ? [0] : [...this.choicesWithRole];
    const delta = isFirst ? { role: 'assistant', content: '' } : {};
    out.addText(
      dataEvent({
        ...this.ownChunk(),
        choices: indexes.map((index) => ({ index, delta, finish_reason: 'length' })),
      }),
    );
    if (this.options.wantsStreamUsage)
      out.addText(dataEvent({ ...this.ownChunk(), choices: [], usage: toChatUsage(usage) }));
    out.addText(DONE_EVENT);
  }

  private relay(event: SseEvent, chunk: JsonRecord, out: ByteOutput): void {
    const isEmpty = records(chunk['choices']).length === 0;
    if (isEmpty && isRecord(chunk['usage'])) {
      this.usageChunk = event;
      return;
    }
    const id = chunk['id'];
    if (this.identity === null && isEmpty && id === '') {
      this.nameless.push(event);
      return;
    }
    this.identify(chunk, out);
    this.write(event, chunk, out);
  }

  private identify(chunk: JsonRecord, out: ByteOutput): void {
    if (this.identity !== null) return;
    const { id, created } = chunk;
    this.identity = {
      id: typeof id === 'string' && id !== '' ? id : this.ownIdentity().id,
      created: typeof created === 'number' && created > 0 ? created : this.ownIdentity().created,
    };
    for (const waiting of this.nameless)
      this.write(waiting, record(parseJson(waiting.data ?? '')), out);
    this.nameless = [];
  }

  private write(event: SseEvent, chunk: JsonRecord, out: ByteOutput): void {
    const choicesBefore = this.choicesWithRole.size;
    const { bytes, layout, patches } = this.edit(
      event,
      chunk,
      this.options.wantsStreamUsage ? 'null' : 'none',
    );
    const written = applyPatches(bytes, patches);
    out.add(written);
    // The next chunk of a choice must not repeat the role, which its first one has.
    const isFirst = this.choicesWithRole.size > choicesBefore;
    this.template =
      bytes === event.raw && !isFirst
        ? ChunkTemplate.of({ raw: bytes, written, patches }, chunk, layout)
        : null;
  }

  private edit(
    event: SseEvent,
    chunk: JsonRecord,
    keepsUsage: ChunkEdits['keepsUsage'],
  ): EditedChunk {
    return editChunk(event, chunk, {
      model: this.options.model,
      identity: this.ownIdentity(),
      ids: this.options.ids,
      keepsUsage,
      choicesWithRole: this.choicesWithRole,
    });
  }

  private writeUsage(charged: TokenUsage, out: ByteOutput): void {
    if (this.usageChunk !== null) {
      const { bytes, patches } = this.edit(
        this.usageChunk,
        record(parseJson(this.usageChunk.data ?? '')),
        'all',
      );
      return out.add(applyPatches(bytes, patches));
    }
    out.addText(
      dataEvent({
        ...this.ownChunk(),
        choices: [],
        usage: this.tap.rawUsage ?? toChatUsage(charged),
      }),
    );
  }

  private ownIdentity(): Identity {
    return this.identity ?? madeIdentity('chatcmpl-', this.options.idSeed);
  }

  private ownChunk(): JsonRecord {
    return { ...this.ownIdentity(), object: 'chat.completion.chunk', model: this.options.model };
  }
}
