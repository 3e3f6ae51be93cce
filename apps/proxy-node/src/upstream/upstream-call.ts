import type { IncomingHttpHeaders } from 'node:http';
import type { Transform } from 'node:stream';
import type { Dispatcher } from 'undici';
import { monotonicMs } from '../monotonic-ms.ts';
import type { CallDeadlines } from './pace/call-deadlines.ts';
import { createDecoder } from './decoded-body.ts';
import { onConnection } from './kept-connections.ts';
import type { Ticker, Ticking } from './ticker.ts';
import { AnswerTooLarge, gatewayFailure, type UpstreamFailure } from './upstream-failure.ts';

export interface BodyConsumer {
  data(chunk: Buffer): void;
  end(): void;
  failed(failure: UpstreamFailure): void;
}

export interface AnswerHead {
  status: number;
  headers: Record<string, string | string[] | undefined>;
}

/** Receives the head of an answer, or the failure. */
export interface HeadListener {
  headArrived(head: AnswerHead): void;
  headFailed(failure: UpstreamFailure): void;
}

/**
 * Is one request to one upstream, driven by undici's dispatch: bytes go from its parser to the consumer without a stream object in between,
 * and backpressure pauses the parser itself. It decodes, watches the deadlines, and knows whether the request was ever sent.
 */
export class UpstreamCall implements Dispatcher.DispatchHandler, Ticking {
  #head: AnswerHead | null = null;
  #headListener: HeadListener | null = null;
  readonly #deadlines: CallDeadlines;
  readonly #ticker: Ticker;
  readonly #bytesMax: number;
  readonly #startedAt = monotonicMs();
  #controller: Dispatcher.DispatchController | null = null;
  #consumer: BodyConsumer | null = null;
  /** Holds chunks without a consumer: those that were read together with the headers, or that the consumer returned. */
  #waiting: Buffer[] = [];
  #decoder: Transform | undefined;
  #bytes = 0;
  #lastByteAt = monotonicMs();
  #isContentSeen = false;
  /** Is the time at which the request was sent; null before. */
  #sentAt: number | null = null;
  /** Is true when it was sent on a connection that had served another request. */
  #isReused = false;
  #isPaused = false;
  #hasEnded = false;
  /** Is the time at which the consumer had all that it needs; null before. */
  #finishedAt: number | null = null;
  #outcome: 'open' | 'ended' | UpstreamFailure = 'open';

  constructor({
    deadlines,
    ticker,
    bytesMax,
  }: {
    deadlines: CallDeadlines;
    ticker: Ticker;
    bytesMax: number;
  }) {
    this.#deadlines = deadlines;
    this.#ticker = ticker;
    this.#bytesMax = bytesMax;
    ticker.add(this);
  }

  /** Returns true when the request has a connection and is being written, or was. */
  get isSent(): boolean {
    return this.#controller !== null;
  }

  /** Registers the listener once; calls it at once when the head has arrived. */
  headTo(listener: HeadListener): void {
    if (this.#head) return listener.headArrived(this.#head);
    if (typeof this.#outcome !== 'string') return listener.headFailed(this.#outcome);
    this.#headListener = listener;
  }

  consume(consumer: BodyConsumer): void {
    this.#consumer = consumer;
    this.#flow();
  }

  /** Returns the unread part of a chunk to the call, which delivers it first after `resume`. */
  giveBack(rest: Buffer): void {
    this.#waiting.unshift(rest);
  }

  /** Returns everything that was consumed, for another consumer to begin with; this one gets no further event. */
  rewind(consumed: readonly Buffer[]): void {
    this.#consumer = null;
    this.#hasEnded = false;
    this.#waiting.unshift(...consumed);
  }

  pause(): void {
    this.#isPaused = true;
    this.#controller?.pause();
    this.#decoder?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#lastByteAt = monotonicMs();
    this.#flow();
    if (this.#isPaused) return;
    this.#decoder?.resume();
    this.#controller?.resume();
  }

  /** Notes content, which meets the first-token deadline. */
  sawContent(): void {
    this.#isContentSeen = true;
    this.#deadlines.pace?.sawContent(monotonicMs() - this.#startedAt);
  }

  /** Gives the upstream a moment to end the answer, so that its connection can be reused. A timer would keep each stream's request in memory. */
  finish(): void {
    this.#consumer = TAKES_THE_REST;
    this.#finishedAt = monotonicMs();
  }

  /** Ends the call at once; the consumer gets no further event. */
  abort(reason: string): void {
    this.#consumer = null;
    if (this.#outcome === 'open')
      this.#close(gatewayFailure('unreachable', reason, { evidence: 'given_up' }));
  }

  tick(now: number): void {
    if (this.#finishedAt !== null)
      return now - this.#finishedAt > LINGER_MS ? this.abort('the answer is complete') : undefined;
    const { firstByteMs, firstTokenMs, isKeptByKeepAlives, totalMs } = this.#deadlines;
    if (now - this.#startedAt > totalMs)
      return this.#close(timeout('The upstream did not finish in time.'));
    if (firstByteMs !== null && this.#bytes === 0 && now - this.#startedAt > firstByteMs)
      return this.#close(timeout('The upstream did not answer in time.'));
    const tokenAwaitedFrom = isKeptByKeepAlives ? this.#lastByteAt : this.#startedAt;
    if (firstTokenMs !== null && !this.#isContentSeen && now - tokenAwaitedFrom > firstTokenMs)
      return this.#close(timeout('The upstream did not begin to answer in time.'));
    const { pace } = this.#deadlines;
    if (!this.#isPaused && pace?.isOutpaced(now - this.#startedAt, now - this.#lastByteAt))
      return this.#close(timeout('The upstream was much slower than it usually is.'));
    // The upstream is not idle while the client is slower.
    if (this.#bytes > 0 && !this.#isPaused && now - this.#lastByteAt > this.#idleMs)
      this.#close(timeout('The upstream fell silent.'));
  }

  /** A model may think in silence before its first content. */
  get #idleMs(): number {
    const { firstTokenMs, idleMs } = this.#deadlines;
    return this.#isContentSeen ? idleMs : Math.max(idleMs, firstTokenMs ?? 0);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#outcome !== 'open')
      return controller.abort(new Error('the call was given up before it was sent'));
    onConnection(this);
  }

  connected(isReused: boolean): void {
    this.#sentAt = monotonicMs();
    this.#isReused = isReused;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return;
    this.#lastByteAt = monotonicMs();
    try {
      this.#decoder = createDecoder(headers['content-encoding']);
    } catch (cause) {
      return this.#close(
        gatewayFailure('unreadable', 'The upstream answered in an unknown encoding.', { cause }),
      );
    }
    if (this.#decoder) this.#attachDecoder(this.#decoder);
    this.#head = { status, headers };
    this.#headListener?.headArrived(this.#head);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const now = monotonicMs();
    this.#deadlines.pace?.sawBytes(now - this.#lastByteAt);
    this.#lastByteAt = now;
    if (!this.#decoder) return this.#deliver(chunk);
    if (!this.#decoder.write(chunk)) {
      this.#controller?.pause();
      this.#decoder.once('drain', () => this.#isPaused || this.#controller?.resume());
    }
  }

  onResponseEnd(): void {
    if (this.#decoder) this.#decoder.end();
    else this.#end();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#controller === null) return this.#close(unsent(error));
    const evidence = this.#isStale ? 'stale' : 'unknown';
    const message = 'The connection to the upstream broke.';
    this.#close(gatewayFailure('server', message, { evidence, cause: error }));
  }

  /** Returns whether the upstream had closed an unused connection while the request was on its way. */
  get #isStale(): boolean {
    return (
      this.#head === null &&
      this.#sentAt !== null &&
      this.#isReused &&
      monotonicMs() - this.#sentAt < STALE_MS
    );
  }

  #attachDecoder(decoder: Transform): void {
    decoder.on('data', (chunk: Buffer) => this.#deliver(chunk));
    decoder.on('end', () => this.#end());
    decoder.on('error', (cause) =>
      this.#close(
        gatewayFailure('unreadable', 'The upstream answer could not be decoded.', { cause }),
      ),
    );
  }

  #deliver(chunk: Buffer): void {
    // undici's parser sends an empty chunk after a pause.
    if (chunk.length === 0) return;
    this.#bytes += chunk.length;
    if (this.#bytes > this.#bytesMax) return this.#close(new AnswerTooLarge(this.#bytesMax));
    if (this.#consumer && !this.#isPaused && this.#waiting.length === 0)
      return this.#consumer.data(chunk);
    this.#waiting.push(chunk);
    this.#flow();
  }

  #flow(): void {
    while (this.#consumer && !this.#isPaused) {
      const chunk = this.#waiting.shift();
      if (!chunk) break;
      this.#consumer.data(chunk);
    }
    this.#report();
  }

  #end(): void {
    if (this.#outcome !== 'open') return;
    this.#outcome = 'ended';
    this.#ticker.remove(this);
    this.#report();
    // The pace hears of the end last, because a JSON answer is judged in that call.
    this.#deadlines.pace?.ended();
  }

  #close(failure: UpstreamFailure): void {
    if (this.#outcome !== 'open') return;
    this.#outcome = failure;
    this.#ticker.remove(this);
    this.#controller?.abort(failure);
    this.#decoder?.destroy();
    this.#report();
    // The listener hears of the failure last, because another attempt may begin in that call.
    if (this.#head === null) this.#headListener?.headFailed(failure);
  }

  /** Passes the ending to the consumer when it exists and everything before the ending was read. */
  #report(): void {
    if (!this.#consumer || this.#waiting.length > 0 || this.#outcome === 'open' || this.#hasEnded)
      return;
    this.#hasEnded = true;
    if (this.#outcome === 'ended') this.#consumer.end();
    else this.#consumer.failed(this.#outcome);
  }
}

const LINGER_MS = 1_000;
const TAKES_THE_REST: BodyConsumer = { data: () => {}, end: () => {}, failed: () => {} };
/** The notice of a closed connection takes one round trip. A connection that breaks later may have worked on the request. */
const STALE_MS = 1_000;

function timeout(message: string): UpstreamFailure {
  return gatewayFailure('timeout', message);
}

function unsent(cause: Error): UpstreamFailure {
  return gatewayFailure('unreachable', 'The upstream could not be reached.', {
    evidence: 'unsent',
    cause,
  });
}
