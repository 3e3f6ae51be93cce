import type { TokenUsage } from '@tollgate/contracts';
import { clientErrorBody, upstreamClientError } from '../errors/client-error.ts';
import { readInBandError, upstreamError } from '../errors/upstream-error.ts';
import type { Ask, StoredIds, StreamSink, UpstreamError } from '../exchange.ts';
import { editPaths } from '../json/edit-paths.ts';
import { isRecord, parseJson, record, wordOf } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { layoutObject } from '../json/json-layout.ts';
import { applyPatches } from '../json/json-splice.ts';
import { ResponseSoFar } from '../responses/response-so-far.ts';
import type { ByteOutput } from '../sse/byte-output.ts';
import { COMMENT_EVENT, namedEvent } from '../sse/sse-format.ts';
import type { TypedRecord } from '../sse/sse-format.ts';
import type { SseEvent } from '../sse/sse-framer.ts';
import { madeIdentity } from '../stream/made-identity.ts';
import { StreamHandler } from '../stream/stream-handler.ts';
import { sealedIds } from '../stored/sealed-ids.ts';
import { responseOf } from '../answers/openai/response-text.ts';
import { isLastEvent, ResponsesTap } from '../answers/openai/responses-tap.ts';
import { responseEvents } from '../answers/openai/response-events.ts';

export interface ResponsesStreamOptions {
  ask: Pick<Ask, 'body' | 'model'>;
  ids: StoredIds;
  idSeed: string;
  /** The client of a stored response has the events up to this number. */
  after?: number;
  sink: StreamSink;
}

/** Carries responses to responses. Ids are sealed and the model is named as asked for; every other byte passes, and so do unknown events. */
export class ResponsesStream extends StreamHandler {
  readonly keepAlive = COMMENT_EVENT;
  protected readonly tap: ResponsesTap;
  private readonly options: ResponsesStreamOptions;
  private readonly soFar: ResponseSoFar;

  constructor(options: ResponsesStreamOptions) {
    super();
    this.options = options;
    this.tap = new ResponsesTap(options.sink);
    this.soFar = new ResponseSoFar({
      identity: madeIdentity('resp_', options.idSeed),
      model: options.ask.model,
      asked: options.ask.body,
    });
  }

  eventsOfWhole(answer: unknown): string {
    return responseEvents(record(answer)).map(namedEvent).join('');
  }

  protected read(event: SseEvent, out: ByteOutput): void {
    if (event.data === null) return out.add(event.raw);
    if (event.isHollow) return out.addText(this.keepAlive);
    const value = parseJson(event.data);
    if (!isRecord(value))
      return event.isDone ? undefined : this.fail(upstreamError('unreadable'), out);
    const error = errorOf(value);
    this.tap.observe(value);
    this.soFar.follow(value);
    if (error) return this.fail(error, out);
    if (!this.isKnown(value)) out.add(this.shown(event.raw, value));
    if (isLastEvent(value['type'])) this.finish(out);
  }

  protected writeEnd(): void {
    // The last event of the protocol is the end of the stream.
  }

  protected writeFailure(error: UpstreamError, out: ByteOutput): void {
    const body = record(
      clientErrorBody('responses', upstreamClientError(error, this.options.idSeed)),
    );
    this.write([this.soFar.failed(record(body['error']))], out);
  }

  protected writeCut(usage: TokenUsage, out: ByteOutput): void {
    this.write(this.soFar.cut(usage), out);
  }

  private isKnown({ sequence_number: number }: JsonRecord): boolean {
    return typeof number === 'number' && number <= (this.options.after ?? -1);
  }

  private write(events: readonly TypedRecord[], out: ByteOutput): void {
    for (const event of events) out.add(this.shown(Buffer.from(namedEvent(event)), event));
  }

  /** Returns the object as the client may see it. */
  private shown(raw: Buffer, value: JsonRecord): Uint8Array {
    const { ids, ask } = this.options;
    const edits = sealedIds(value, { ids, model: ask.model });
    if (edits.length === 0) return raw;
    const layout = layoutObject(raw, raw.indexOf(0x7b));
    // Data in several lines is no object where it stands: the event is rewritten.
    if (!layout || raw.indexOf('\ndata:', layout.open) !== -1)
      return this.shown(Buffer.from(namedEvent({ ...value, type: wordOf(value['type']) })), value);
    return applyPatches(raw, editPaths(raw, layout, edits));
  }
}

/** `response.failed` carries its error in the response; events of other shapes carry it as everywhere. */
function errorOf(event: JsonRecord): UpstreamError | null {
  const { type } = event;
  if (type === 'response.failed' || type === 'response.cancelled')
    return readInBandError({ error: responseOf(event)['error'] }) ?? upstreamError('server');
  return typeof type === 'string' && type.startsWith('response.') ? null : readInBandError(event);
}
