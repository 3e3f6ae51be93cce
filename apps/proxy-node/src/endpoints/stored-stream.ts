import type { StreamReader } from '@tollgate/protocols';
import type { ServedUpstream } from '../snapshot/routing-index.ts';
import type { ClientReply } from '../http/client-reply.ts';
import type { ShownCounter } from './shown-counter.ts';
import { monotonicMs } from '../monotonic-ms.ts';
import type { Ticker, Ticking } from '../upstream/ticker.ts';
import type { CallDeadlines } from '../upstream/pace/call-deadlines.ts';
import type { UpstreamCall } from '../upstream/upstream-call.ts';

/** The deadlines equal those of the upstream's longest stream, because a stored response may still be running. */
export function storedStreamDeadlines(upstream: ServedUpstream): CallDeadlines {
  return {
    firstByteMs: null,
    firstTokenMs: upstream.first_token_timeout_ms,
    isKeptByKeepAlives: true,
    idleMs: upstream.idle_timeout_ms,
    totalMs: upstream.total_timeout_ms,
  };
}

/**
 * Relays the events of a stored response as they arrive. A stream that breaks breaks for the client, too, which may ask for the rest, because the
 * response itself has not ended.
 */
export class StoredStream implements Ticking {
  readonly #call: UpstreamCall;
  readonly #reader: StreamReader;
  readonly #reply: ClientReply;
  readonly #counter: ShownCounter | null;
  readonly #ticker: Ticker;
  readonly #keepAliveMs: number;
  readonly #over = Promise.withResolvers<void>();
  #lastWriteAt = monotonicMs();
  #hasBytes = false;

  constructor({
    call,
    reader,
    reply,
    counter,
    ticker,
    keepAliveMs,
  }: {
    call: UpstreamCall;
    reader: StreamReader;
    reply: ClientReply;
    counter: ShownCounter | null;
    ticker: Ticker;
    keepAliveMs: number;
  }) {
    this.#call = call;
    this.#reader = reader;
    this.#reply = reply;
    this.#counter = counter;
    this.#ticker = ticker;
    this.#keepAliveMs = keepAliveMs;
  }

  /** Resolves when the client has all of it, or has left. */
  async pass(): Promise<void> {
    this.#reply.startStream();
    this.#reply.onGone(() => this.#over.resolve());
    this.#ticker.add(this);
    this.#call.consume({
      data: (chunk) => this.#data(chunk),
      end: () => this.#ended(),
      failed: () => this.#reply.cut(),
    });
    try {
      await this.#over.promise;
    } finally {
      this.#ticker.remove(this);
      this.#call.abort('the stream is over');
      this.#counter?.end();
    }
  }

  tick(now: number): void {
    this.#counter?.report();
    if (this.#reply.isStalled(now)) return this.#reply.cut();
    const isQuiet = now - this.#lastWriteAt >= this.#keepAliveMs;
    if (isQuiet && !this.#reply.isBlocked) this.#write(this.#reader.keepAlive());
  }

  #data(chunk: Buffer): void {
    this.#hasBytes = true;
    const bytes = this.#reader.push(chunk);
    if (this.#reader.hasContent) this.#call.sawContent();
    if (this.#reader.state !== 'running') return this.#end(bytes);
    this.#write(bytes);
  }

  #write(bytes: Uint8Array): void {
    if (bytes.byteLength === 0) return;
    this.#lastWriteAt = monotonicMs();
    if (this.#reply.write(bytes)) return;
    this.#call.pause();
    this.#reply.onDrain(() => this.#call.resume());
  }

  /** A stream without an event is complete. */
  #ended(): void {
    const last = this.#reader.end();
    if (this.#hasBytes && this.#reader.state !== 'finished') return this.#reply.cut();
    this.#end(this.#hasBytes ? last : new Uint8Array());
  }

  #end(bytes: Uint8Array): void {
    this.#reply.endWith(bytes);
    this.#over.resolve();
  }
}
