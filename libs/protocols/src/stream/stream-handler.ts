import type { ReportedUsage, TokenUsage } from '@tollgate/contracts';
import { upstreamError } from '../errors/upstream-error.ts';
import type { UpstreamError } from '../exchange.ts';
import type { ByteOutput } from '../sse/byte-output.ts';
import type { SseEvent } from '../sse/sse-framer.ts';

/** Reads a stream along; `ChatTap`, `MessagesTap`. */
export interface StreamTap {
  readonly usage: ReportedUsage | null;
  readonly hasContent: boolean;
  readonly hasFinish: boolean;
  /** Is described at `StreamReader`. */
  readonly backgroundId?: string | null;
  /** Is true when `usage` is the account of the whole answer. `hasEnded` is true when the upstream has ended the stream itself. */
  isUsageFinal(hasEnded: boolean): boolean;
}

/**
 * Follows one stream of one pair of protocols: whether it runs, how it ended, and what its usage is worth. A stream ends once; afterwards the gateway says nothing.
 * A pair adds what it writes; `EventStreamReader` frames the events.
 */
export abstract class StreamHandler {
  state: 'running' | 'finished' | 'failed' = 'running';
  error: UpstreamError | null = null;
  abstract readonly keepAlive: string;
  protected abstract readonly tap: StreamTap;
  /** Is true when text after the upstream's own end mark is passed on. */
  protected readonly isReadAfterEnd: boolean = false;
  /** Is true when the gateway ended it: figures of the beginning are no report of the end, or the output would be free. */
  private isCutShort = false;
  private isClosed = false;

  get hasContent(): boolean {
    return this.tap.hasContent;
  }

  get hasFinish(): boolean {
    return this.tap.hasFinish;
  }

  get backgroundId(): string | null {
    return this.tap.backgroundId ?? null;
  }

  get usage(): ReportedUsage | null {
    return this.tap.usage;
  }

  get isUsageFinal(): boolean {
    return this.tap.isUsageFinal(this.hasEnded);
  }

  onEvent(event: SseEvent, out: ByteOutput): void {
    if (this.state === 'running' || (this.isReadAfterEnd && this.hasEnded)) this.read(event, out);
  }

  /** Returns the place of the first event from `start` on that is one for `onEvent`: those before it are dealt with. */
  onEvents(bytes: Buffer, start: number, out: ByteOutput): number {
    return this.state === 'running' ? this.readAlike(bytes, start, out) : start;
  }

  /** The upstream closed the connection. */
  onEnd(out: ByteOutput): void {
    if (this.state !== 'running') return;
    if (this.tap.hasFinish) this.finish(out);
    else
      this.fail(
        upstreamError('unreadable', {
          message: 'The upstream ended the stream before it was finished.',
        }),
        out,
      );
  }

  /** Says what is owed to the client of a stream that the upstream has ended, now that it is known what is charged for it. */
  close(usage: TokenUsage, out: ByteOutput): void {
    if (!this.hasEnded || this.isClosed) return;
    this.isClosed = true;
    this.writeEnd(usage, out);
  }

  fail(error: UpstreamError, out: ByteOutput): void {
    if (this.state !== 'running') return;
    this.state = 'failed';
    this.error = error;
    this.writeFailure(error, out);
  }

  finishEarly(usage: TokenUsage, out: ByteOutput): void {
    if (this.state !== 'running') return;
    this.state = 'finished';
    this.isCutShort = true;
    this.writeCut(usage, out);
  }

  /** Returns the upstream's event stream with the content of a JSON answer, because some upstreams answer JSON to `stream: true` (behaviour 34). */
  abstract eventsOfWhole(answer: unknown): string;

  /** The upstream has ended the stream. An end mark with nothing before it is no answer. */
  protected finish(out: ByteOutput): void {
    if (!this.tap.hasFinish && !this.tap.hasContent) this.fail(upstreamError('unreadable'), out);
    else this.state = 'finished';
  }

  /** Is true when the upstream has ended the stream itself, without an error. */
  private get hasEnded(): boolean {
    return this.state === 'finished' && !this.isCutShort;
  }

  protected abstract read(event: SseEvent, out: ByteOutput): void;

  /** Takes a fast path for events that equal earlier ones but for their text: writes them and answers where they end, `start` where there are none. */
  protected readAlike(_bytes: Buffer, start: number, _out: ByteOutput): number {
    return start;
  }

  /** Returns what is still owed to the client when the upstream has ended. */
  protected abstract writeEnd(usage: TokenUsage, out: ByteOutput): void;
  protected abstract writeFailure(error: UpstreamError, out: ByteOutput): void;
  /** Writes the ending of a stream that met its limit, with what is charged for it. */
  protected abstract writeCut(usage: TokenUsage, out: ByteOutput): void;
}
