import type { TokenUsage } from '@tollgate/contracts';
import { clientErrorBody, upstreamClientError } from '../errors/client-error.ts';
import { readInBandError, upstreamError } from '../errors/upstream-error.ts';
import type { Ask, StreamSink, UpstreamError } from '../exchange.ts';
import { isRecord, parseJson, record, records } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { findMember, layoutObject } from '../json/json-layout.ts';
import { applyPatches, editObject } from '../json/json-splice.ts';
import type { ByteOutput } from '../sse/byte-output.ts';
import { COMMENT_EVENT, dataEvent, DONE_EVENT } from '../sse/sse-format.ts';
import type { SseEvent } from '../sse/sse-framer.ts';
import { StreamHandler } from '../stream/stream-handler.ts';
import { CompletionsTap } from '../answers/openai/completions-tap.ts';
import { toChatUsage } from '../usage/chat-usage.ts';
import { echoOf } from './echo.ts';

export interface CompletionsStreamOptions {
  ask: Pick<Ask, 'body' | 'model' | 'wantsStreamUsage'>;
  idSeed: string;
  sink: StreamSink;
}

/** Carries completions to completions. The model is named as asked for, and usage that was not asked for is taken out; every other byte passes. */
export class CompletionsStream extends StreamHandler {
  readonly keepAlive = COMMENT_EVENT;
  protected readonly tap: CompletionsTap;
  private readonly options: CompletionsStreamOptions;
  /** Holds members of the last chunk, for the gateway's own chunks. */
  private head: JsonRecord = {};
  /** Holds the choices that continue. */
  private readonly open = new Set<unknown>();

  constructor(options: CompletionsStreamOptions) {
    super();
    this.options = options;
    this.tap = new CompletionsTap(options.sink, (choice) => echoOf(options.ask, choice));
  }

  eventsOfWhole(answer: unknown): string {
    const { usage, ...rest } = record(answer);
    const chunks = isRecord(usage) ? [rest, { ...rest, choices: [], usage }] : [rest];
    return chunks.map(dataEvent).join('') + DONE_EVENT;
  }

  protected read(event: SseEvent, out: ByteOutput): void {
    if (event.data === null) return out.add(event.raw);
    if (event.isHollow) return out.addText(this.keepAlive);
    if (event.isDone) return this.finish(out);
    const value = parseJson(event.data);
    if (!isRecord(value)) return this.fail(upstreamError('unreadable'), out);
    const error = readInBandError(value);
    if (error) return this.fail(error, out);
    this.tap.observe(value);
    this.follow(value);
    if (isRecord(value['usage']) && records(value['choices']).length === 0 && !this.isUsageAsked)
      return;
    out.add(this.shown(event.raw));
  }

  protected writeEnd(_usage: TokenUsage, out: ByteOutput): void {
    out.addText(DONE_EVENT);
  }

  protected writeFailure(error: UpstreamError, out: ByteOutput): void {
    const { idSeed } = this.options;
    out.addText(dataEvent(clientErrorBody('completions', upstreamClientError(error, idSeed))));
  }

  protected writeCut(usage: TokenUsage, out: ByteOutput): void {
    const choices = [...this.open].map((index) => ({
      index,
      text: '',
      logprobs: null,
      finish_reason: 'length',
    }));
    out.addText(dataEvent({ ...this.head, choices }));
    if (this.isUsageAsked)
      out.addText(dataEvent({ ...this.head, choices: [], usage: toChatUsage(usage) }));
    out.addText(DONE_EVENT);
  }

  private get isUsageAsked(): boolean {
    return this.options.ask.wantsStreamUsage;
  }

  private follow(chunk: JsonRecord): void {
    const { choices, usage: _, ...head } = chunk;
    this.head = { ...head, model: this.options.ask.model };
    for (const { index, finish_reason: finish } of records(choices)) {
      if (typeof finish === 'string') this.open.delete(index);
      else this.open.add(index);
    }
  }

  private shown(raw: Buffer): Uint8Array {
    const layout = layoutObject(raw, raw.indexOf(0x7b));
    if (!layout) return raw;
    const model = findMember(layout, 'model') && { model: JSON.stringify(this.options.ask.model) };
    return applyPatches(
      raw,
      editObject(layout, { ...model, ...(this.isUsageAsked ? {} : { usage: null }) }),
    );
  }
}
