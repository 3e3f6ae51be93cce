import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { monotonicMs } from '../monotonic-ms.ts';

/** Writes an answer to a client. No other code does. It writes directly to the socket's response, without a web stream between upstream and client. */
export class ClientReply {
  readonly #outgoing: ServerResponse;
  readonly #headers: Record<string, string>;
  readonly #stallMs: number;
  #stalledSince: number | null = null;
  #isDismissed = false;

  /** A client that reads nothing for `stallMs` although bytes wait for it is cut, so that it cannot hold resources. */
  constructor(outgoing: ServerResponse, { rid, stallMs }: { rid: string; stallMs: number }) {
    this.#outgoing = outgoing;
    this.#stallMs = stallMs;
    // The OpenAI SDK reads the first name, the Anthropic SDK the second.
    this.#headers = { 'x-request-id': rid, 'request-id': rid };
  }

  /** Adds headers that every later answer carries; names are in lower case. */
  addHeaders(headers: Readonly<Record<string, string>>): void {
    Object.assign(this.#headers, headers);
  }

  get isStarted(): boolean {
    return this.#outgoing.headersSent;
  }

  /** Is true when the client disconnected, or was cut or dismissed, before the answer was complete. */
  get isGone(): boolean {
    return this.#isDismissed || (this.#outgoing.destroyed && !this.#outgoing.writableFinished);
  }

  /** Is the status of the answer so far; 499 when the client left before there was one. */
  get status(): number {
    return this.#outgoing.headersSent ? this.#outgoing.statusCode : 499;
  }

  /** Calls the listener once when the client leaves before the answer is complete. */
  onGone(listener: () => void): void {
    this.#outgoing.once('close', () => {
      if (this.#isDismissed || !this.#outgoing.writableFinished) listener();
    });
  }

  send(status: number, body: Uint8Array | string, contentType = 'application/json'): void {
    if (this.isGone || this.isStarted) return;
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
    this.#headers['content-type'] = contentType;
    this.#headers['content-length'] = String(length);
    this.#outgoing.writeHead(status, this.#headers);
    this.#outgoing.end(body);
    this.#watchLastBytes();
  }

  sendJson(status: number, body: unknown): void {
    this.send(status, JSON.stringify(body));
  }

  /** Is the media type of its stream. */
  streamType = 'text/event-stream; charset=utf-8';

  /** The headers leave with the first bytes, in one packet and one system call. */
  startStream(): void {
    if (this.isGone || this.isStarted) return;
    // The last two headers keep nginx and compressing proxies from delaying events.
    this.#headers['content-type'] = this.streamType;
    this.#headers['cache-control'] = 'no-cache, no-transform';
    this.#headers['x-accel-buffering'] = 'no';
    this.#outgoing.writeHead(200, this.#headers);
  }

  /** Returns false when the client reads more slowly than bytes arrive: stop until `onDrain`. */
  write(bytes: Uint8Array): boolean {
    if (bytes.byteLength === 0 || this.isGone) return true;
    const isFlowing = this.#outgoing.write(bytes);
    if (!isFlowing) this.#stalledSince ??= monotonicMs();
    return isFlowing;
  }

  onDrain(listener: () => void): void {
    this.#outgoing.once('drain', () => {
      this.#stalledSince = null;
      listener();
    });
  }

  /** Is true when bytes wait for the client. */
  get isBlocked(): boolean {
    return this.#stalledSince !== null;
  }

  /** Is asked while the answer is being written; this class watches its last bytes. */
  isStalled(now: number): boolean {
    return this.#stalledSince !== null && now - this.#stalledSince > this.#stallMs;
  }

  /** Ends the answer once. */
  endWith(bytes: Uint8Array): void {
    if (this.isGone || this.#outgoing.writableEnded) return;
    this.#outgoing.end(bytes);
    this.#watchLastBytes();
  }

  /** Cuts the connection, because the answer can no longer be completed. */
  cut(): void {
    this.#outgoing.destroy();
  }

  /** Ends the answer for its client, with this error when no answer has begun. Its maker sees a client that has left. */
  dismiss(status: number, body: Uint8Array): void {
    if (this.isGone) return;
    if (this.isStarted) this.cut();
    else this.send(status, body);
    this.#isDismissed = true;
  }

  /**
   * The last bytes may stay in the socket long after the request. A separate timer checks whether they become fewer, because Node's socket time-out
   * restarts with every byte from the client.
   */
  #watchLastBytes(): void {
    const { socket, writableLength } = this.#outgoing;
    if (writableLength === 0 || !socket) return;
    let left = waitingBytes(socket);
    let changedAtMs = monotonicMs();
    const timer = setInterval(() => {
      const now = monotonicMs();
      const leftNow = waitingBytes(socket);
      if (leftNow !== left) [left, changedAtMs] = [leftNow, now];
      else if (now - changedAtMs >= this.#stallMs) this.cut();
    }, this.#stallMs / LOOKS_PER_STALL).unref();
    this.#outgoing.once('close', () => clearInterval(timer));
  }
}

/** A client that reads nothing is cut at most a quarter of the time late. */
const LOOKS_PER_STALL = 4;

/**
 * Returns the bytes that the system has not taken yet. `writableLength` counts a single large write completely until its end; the handle knows the
 * remaining part.
 */
function waitingBytes(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: { writeQueueSize?: number } | null };
  return handle?.writeQueueSize ?? socket.writableLength;
}
