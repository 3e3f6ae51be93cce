import type { ReportedUsage, TokenUsage } from '@tollgate/contracts';
import { upstreamError } from '../errors/upstream-error.ts';
import type { StreamReader, UpstreamError } from '../exchange.ts';
import { bufferOf, parseJson, withoutMark } from '../json/json-guard.ts';
import { ByteOutput } from '../sse/byte-output.ts';
import { SseEvent, SseFramer, type EventFramer } from '../sse/sse-framer.ts';
import type { StreamHandler } from './stream-handler.ts';

/** A longer JSON answer to a stream request is not read. */
const WHOLE_BYTES_MAX = 32 * 1024 * 1024;

const BODY_STARTS = new Set([0x7b, 0x5b, 0x3c]); // No field of an event stream begins with `{`, `[` or `<`.
const BLANKS = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);

/**
 * Frames the events of an upstream's bytes for every pair of protocols, recognises a body that is not an event stream, and passes events to the
 * pair's handler.
 */
export class EventStreamReader implements StreamReader {
  private readonly handler: StreamHandler;
  private framer: EventFramer;
  private readonly out = new ByteOutput();
  private form: 'unknown' | 'events' | 'whole' = 'unknown';
  private whole: Buffer[] = [];
  private wholeBytes = 0;

  constructor(handler: StreamHandler, framer: EventFramer = new SseFramer()) {
    this.handler = handler;
    this.framer = framer;
  }

  push(bytes: Uint8Array): Uint8Array {
    if (this.form === 'unknown') this.form = formOf(bytes);
    if (this.form === 'whole') this.keepWhole(bytes);
    else this.feed(bytes);
    return this.out.take();
  }

  end(): Uint8Array {
    if (this.form === 'whole') {
      this.framer = new SseFramer();
      this.feed(this.eventsOfWhole());
    }
    const last = this.framer.end();
    // After the finish, a cut event takes nothing from the answer.
    if (last && !(this.handler.hasFinish && isCutOff(last)))
      this.handler.onEvent(new SseEvent(closed(last.raw)), this.out);
    if (!this.isMadeInBackground) this.handler.onEnd(this.out);
    return this.out.take();
  }

  close(usage: TokenUsage): Uint8Array {
    this.handler.close(usage, this.out);
    return this.out.take();
  }

  fail(error: UpstreamError): Uint8Array {
    this.handler.fail(error, this.out);
    return this.out.take();
  }

  finishEarly(usage: TokenUsage): Uint8Array {
    this.handler.finishEarly(usage, this.out);
    return this.out.take();
  }

  keepAlive(): Uint8Array {
    return Buffer.from(this.handler.keepAlive);
  }

  get state(): 'running' | 'finished' | 'failed' {
    return this.handler.state;
  }

  get error(): UpstreamError | null {
    return this.handler.error;
  }

  get hasContent(): boolean {
    return this.handler.hasContent;
  }

  get hasFinish(): boolean {
    return this.handler.hasFinish;
  }

  get backgroundId(): string | null {
    return this.handler.backgroundId;
  }

  get usage(): ReportedUsage | null {
    return this.handler.usage;
  }

  get isUsageFinal(): boolean {
    return this.handler.isUsageFinal;
  }

  /** A JSON answer with a background status is complete for now. */
  private get isMadeInBackground(): boolean {
    const { backgroundId, hasFinish } = this.handler;
    return this.form === 'whole' && backgroundId !== null && !hasFinish;
  }

  private feed(bytes: Uint8Array): void {
    const { framer, handler, out } = this;
    const chunk = bufferOf(bytes);
    for (let at = 0; at < chunk.length; at = framer.eventEnd) {
      const start = framer.isBetweenEvents ? handler.onEvents(chunk, at, out) : at;
      const event = framer.next(chunk, start);
      if (!event) break;
      handler.onEvent(event, out);
    }
    if (framer.hasFailed) handler.fail(upstreamError('unreadable'), out);
  }

  private keepWhole(bytes: Uint8Array): void {
    this.wholeBytes += bytes.length;
    if (this.wholeBytes <= WHOLE_BYTES_MAX) this.whole.push(bufferOf(bytes));
    else this.handler.fail(upstreamError('unreadable'), this.out);
  }

  /** HTML and broken JSON give no events, and so end as an incomplete stream. */
  private eventsOfWhole(): Buffer {
    const answer = parseJson(withoutMark(Buffer.concat(this.whole)));
    if (answer === undefined) this.handler.fail(upstreamError('unreadable'), this.out);
    return Buffer.from(answer === undefined ? '' : this.handler.eventsOfWhole(answer));
  }
}

function formOf(bytes: Uint8Array): 'unknown' | 'events' | 'whole' {
  const first = bytes.find((byte) => !BLANKS.has(byte));
  if (first === undefined) return 'unknown';
  return BODY_STARTS.has(first) ? 'whole' : 'events';
}

function isCutOff({ data, isDone }: SseEvent): boolean {
  return data !== null && !isDone && parseJson(data) === undefined;
}

/** Returns the last event with its missing blank line, so that the client's reader sees its end. */
function closed(raw: Buffer): Buffer {
  return Buffer.concat([raw, Buffer.from(raw.at(-1) === 0x0a ? '\n' : '\n\n')]);
}
