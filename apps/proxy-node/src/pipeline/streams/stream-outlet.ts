import type { Delivered, StreamReader } from '@tollgate/protocols';
import type { ClientReply } from '../../http/client-reply.ts';
import { monotonicMs } from '../../monotonic-ms.ts';
import type { MeterContext } from '../answers/answer-meter.ts';
import { Preamble } from './preamble.ts';

/** Is the client's end of a stream: the preamble that waits for content, and a client that reads slower than bytes come. */
export class StreamOutlet {
  readonly #reply: ClientReply;
  readonly #delivered: Delivered | null;
  readonly #onBlocked: () => void;
  readonly #onFree: () => void;
  readonly #preamble = new Preamble();
  #isCommitted = false;
  #isBlocked = false;
  readonly #keepAliveMs: number;
  #lastWriteAt: number;

  constructor(
    {
      reply,
      delivered,
      receivedMonotonicMs,
      keepAliveMs,
    }: Pick<MeterContext, 'reply' | 'delivered' | 'receivedMonotonicMs' | 'keepAliveMs'>,
    { onBlocked, onFree }: { onBlocked: () => void; onFree: () => void },
  ) {
    this.#reply = reply;
    this.#delivered = delivered;
    this.#lastWriteAt = receivedMonotonicMs;
    this.#keepAliveMs = keepAliveMs;
    this.#onBlocked = onBlocked;
    this.#onFree = onFree;
  }

  /** Bytes of an answer reached the client: from here on no other upstream can take over unseen. */
  get isCommitted(): boolean {
    return this.#isCommitted;
  }

  /** The client takes nothing for now. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** A new attempt has a preamble of its own. */
  begin(): void {
    this.#preamble.take();
  }

  /** Keeps bytes without content back from the client; returns false once they are too many, or the answer has begun. */
  keepBack(bytes: Uint8Array): boolean {
    return !this.#isCommitted && this.#preamble.keep(bytes);
  }

  commitPreamble(): void {
    this.#reply.startStream();
    for (const bytes of this.#preamble.take()) this.write(bytes);
  }

  write(bytes: Uint8Array): void {
    if (bytes.byteLength === 0) return;
    this.#isCommitted = true;
    this.#delivered?.keep(bytes);
    this.#send(bytes);
  }

  /** Writes `bytes` without its error event; false, with nothing written of them, where no other upstream may continue what the client then has. */
  writeCut(bytes: Uint8Array): boolean {
    if (!this.#delivered || this.#reply.isGone) return false;
    this.commitPreamble();
    const said = this.#delivered.observe(bytes);
    if (!this.#delivered.canBeContinued) return false;
    this.#send(said);
    return true;
  }

  /** Cuts a client that takes nothing, and keeps the connection of one that waits alive; `reader`: of a stream that continues. */
  tick(now: number, reader: Pick<StreamReader, 'keepAlive'> | null): void {
    if (this.#reply.isGone) return;
    if (this.#reply.isStalled(now)) return this.#reply.cut();
    const isQuiet = now - this.#lastWriteAt >= this.#keepAliveMs;
    if (reader && !this.#reply.isBlocked && isQuiet) this.#keepAlive(reader.keepAlive());
  }

  /** Means nothing: the preamble waits on, and the upstream may still be replaced unseen. */
  #keepAlive(bytes: Uint8Array): void {
    this.#reply.startStream();
    this.#send(bytes);
  }

  #send(bytes: Uint8Array): void {
    if (bytes.byteLength === 0) return;
    this.#lastWriteAt = monotonicMs();
    if (this.#reply.write(bytes) || this.#isBlocked) return;
    this.#isBlocked = true;
    this.#onBlocked();
    this.#reply.onDrain(() => this.free());
  }

  /** The client reads again, or what it reads no longer matters. */
  free(): void {
    this.#isBlocked = false;
    this.#onFree();
  }
}
