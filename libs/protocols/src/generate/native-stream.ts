import type { TokenUsage } from '@tollgate/contracts';
import { GEMINI_ERROR_WORDS } from '../answers/gemini/answers.ts';
import { GeminiTap } from '../answers/gemini/gemini-tap.ts';
import { clientErrorBody, upstreamClientError } from '../errors/client-error.ts';
import { readInBandError, upstreamError } from '../errors/upstream-error.ts';
import type { StreamSink, UpstreamError } from '../exchange.ts';
import { isRecord, parseJson, record, type JsonRecord } from '../json/json-guard.ts';
import { layoutObject } from '../json/json-layout.ts';
import { applyPatches, editObject } from '../json/json-splice.ts';
import type { ByteOutput } from '../sse/byte-output.ts';
import { dataEvent } from '../sse/sse-format.ts';
import type { SseEvent } from '../sse/sse-framer.ts';
import { StreamHandler } from '../stream/stream-handler.ts';
import { answerOf, type AnswerHead } from './answer-back.ts';
import { streamFormat, type StreamFormat } from './stream-format.ts';

interface NativeOptions {
  head: AnswerHead;
  isArray: boolean;
  sink: StreamSink;
}

/** Carries Gemini to Gemini: the bytes of each event but for the name of the model. As an array, it writes each event's JSON. */
export class NativeStream extends StreamHandler {
  protected readonly tap: GeminiTap;
  readonly #head: AnswerHead;
  readonly #isArray: boolean;
  readonly #format: StreamFormat;

  constructor({ head, isArray, sink }: NativeOptions) {
    super();
    this.tap = new GeminiTap(sink);
    this.#head = head;
    this.#isArray = isArray;
    this.#format = streamFormat(isArray);
  }

  get keepAlive(): string {
    return this.#format.keepAlive;
  }

  /** Without `alt=sse` Gemini answers with an array of what the events are. */
  eventsOfWhole(answer: unknown): string {
    return (Array.isArray(answer) ? answer : [answer])
      .map((piece) => dataEvent(record(piece)))
      .join('');
  }

  protected read(event: SseEvent, out: ByteOutput): void {
    if (event.data === null || event.isHollow) return out.addText(this.keepAlive);
    const value = parseJson(event.data);
    if (!isRecord(value)) return this.fail(upstreamError('unreadable'), out);
    const error = readInBandError(value, GEMINI_ERROR_WORDS);
    this.tap.observe(value);
    if (error) return this.fail(error, out);
    if (this.#isArray) out.addText(this.#format.piece(this.#named(value)));
    else out.add(withModelVersion(event.raw, this.#head.modelVersion));
  }

  protected writeEnd(_usage: TokenUsage, out: ByteOutput): void {
    out.addText(this.#format.end());
  }

  protected writeFailure(error: UpstreamError, out: ByteOutput): void {
    const { responseId } = this.#head;
    const body = clientErrorBody('generate', upstreamClientError(error, responseId));
    out.addText(this.#format.piece({ ...body }) + this.#format.end());
  }

  protected writeCut(usage: TokenUsage, out: ByteOutput): void {
    const last = answerOf(this.#head, { parts: [{ text: '' }], finish: 'MAX_TOKENS', usage });
    out.addText(this.#format.piece(last) + this.#format.end());
  }

  #named(value: JsonRecord): JsonRecord {
    const { modelVersion } = this.#head;
    return value['modelVersion'] === undefined ? value : { ...value, modelVersion };
  }
}

/** Returns the bytes of an answer or of an event with the name that the client asked for. */
export function withModelVersion(bytes: Buffer, modelVersion: string): Uint8Array {
  const layout = layoutObject(bytes, Math.max(0, bytes.indexOf(0x7b)));
  if (!layout || !layout.members.some(({ key }) => key === 'modelVersion')) return bytes;
  return applyPatches(bytes, editObject(layout, { modelVersion: JSON.stringify(modelVersion) }));
}
