import type { TokenUsage } from '@tollgate/contracts';
import { clientErrorBody, upstreamClientError } from '../errors/client-error.ts';
import { readInBandError, upstreamError } from '../errors/upstream-error.ts';
import type { ClientProtocol, StreamSink, UpstreamError } from '../exchange.ts';
import { isRecord, parseJson, record } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import type { ProviderAnswers } from '../answers/provider-answers.ts';
import type { ByteOutput } from '../sse/byte-output.ts';
import type { SseEvent } from '../sse/sse-framer.ts';
import { StreamHandler } from '../stream/stream-handler.ts';

/** Translates in one direction, as pure functions over a state. */
export interface StreamTranslation<S> {
  initial: S;
  /** Converts the JSON of an upstream event to client events. */
  step(state: S, event: JsonRecord): readonly [S, readonly JsonRecord[]];
  /** Returns the closing events of a stream that ended properly, or that the gateway ended as if its limit was reached (`isCutShort`). */
  finish(state: S, end: { usage: TokenUsage; isCutShort: boolean }): readonly JsonRecord[];
  /** Converts an error in the client's protocol to a client event. */
  failure(state: S, body: JsonRecord): JsonRecord;
  format(event: JsonRecord): string;
  /** Is the text after the last event: `[DONE]` for chat. */
  readonly trailer: string;
  readonly keepAlive: string;
}

export interface TranslatedStreamOptions<S> {
  protocol: ClientProtocol;
  answers: ProviderAnswers;
  translation: StreamTranslation<S>;
  idSeed: string;
  sink: StreamSink;
}

/** Runs a translation: it reads the upstream's events and their usage. */
export class TranslatedStream<S> extends StreamHandler {
  private readonly options: TranslatedStreamOptions<S>;
  protected readonly tap: ReturnType<ProviderAnswers['openTap']>;
  private translated: S;

  constructor(options: TranslatedStreamOptions<S>) {
    super();
    this.options = options;
    this.tap = options.answers.openTap(options.sink);
    this.translated = options.translation.initial;
  }

  get keepAlive(): string {
    return this.options.translation.keepAlive;
  }

  eventsOfWhole(answer: unknown): string {
    return this.options.answers.eventsOfWhole(record(answer));
  }

  protected read(event: SseEvent, out: ByteOutput): void {
    if (event.data === null) return event.raw.length > 2 ? out.addText(this.keepAlive) : undefined;
    if (event.isHollow) return out.addText(this.keepAlive);
    const value = parseJson(event.data);
    if (!isRecord(value))
      return event.isDone ? this.onDone(out) : this.fail(upstreamError('unreadable'), out);
    const error = readInBandError(value, this.options.answers.errorWords);
    this.tap.observe(value);
    if (error) return this.fail(error, out);
    if (value['type'] === 'ping') return out.addText(this.keepAlive);
    const [next, events] = this.options.translation.step(this.translated, value);
    this.translated = next;
    this.write(events, out);
    if (this.options.answers.isEnd(value)) this.finish(out);
  }

  protected writeEnd(usage: TokenUsage, out: ByteOutput): void {
    this.writeFinish({ usage, isCutShort: false }, out);
  }

  protected writeFailure(error: UpstreamError, out: ByteOutput): void {
    const { protocol, translation, idSeed } = this.options;
    const body = record(clientErrorBody(protocol, upstreamClientError(error, idSeed)));
    this.write([translation.failure(this.translated, body)], out);
  }

  protected writeCut(usage: TokenUsage, out: ByteOutput): void {
    this.writeFinish({ usage, isCutShort: true }, out);
  }

  private onDone(out: ByteOutput): void {
    if (this.options.answers.isEndedByDone) this.finish(out);
  }

  private writeFinish(end: { usage: TokenUsage; isCutShort: boolean }, out: ByteOutput): void {
    this.write(this.options.translation.finish(this.translated, end), out);
    out.addText(this.options.translation.trailer);
  }

  private write(events: readonly JsonRecord[], out: ByteOutput): void {
    if (events.length > 0)
      out.addText(events.map((event) => this.options.translation.format(event)).join(''));
  }
}
