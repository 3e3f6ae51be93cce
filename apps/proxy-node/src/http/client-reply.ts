import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { monotonicMs } from '../monotonic-ms.ts';

/** The one way bytes reach a client. Written straight to the socket's response: no web stream stands between upstream and client. */
export class ClientReply {
  readonly #outgoing: ServerResponse;
  readonly #headers: Record<string, string>;
  readonly #stallMs: number;
  #stalledSince: number | null = null;
  #isDismissed = false;

  /** `stallMs`: a client that reads nothing for so long although bytes wait for it is cut, so that it cannot pin what serves it. */
  constructor(outgoing: ServerResponse, { rid, stallMs }: { rid: string; stallMs: number }) {
    this.#outgoing = outgoing;
    this.#stallMs = stallMs;
    // Both names: the OpenAI SDK reads the first, the Anthropic SDK the second.
    this.#headers = { 'x-request-id': rid, 'request-id': rid };
  }

  /** Headers every later answer carries; names in lower case. */
  addHeaders(headers: Readonly<Record<string, string>>): void {
    Object.assign(this.#headers, headers);
  }

  get isStarted(): boolean {
    return this.#outgoing.headersSent;
  }

  /** The client hung up, or was cut or dismissed, before the answer was whole. */
  get isGone(): boolean {
    return this.#isDismissed || (this.#outgoing.destroyed && !this.#outgoing.writableFinished);
  }

  /** Status of the answer so far; 499 when the client left before there was one. */
  get status(): number {
    return this.#outgoing.headersSent ? this.#outgoing.statusCode : 499;
  }

  /** Calls back once when the client goes before the answer is whole. */
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

  /** The form of its stream. */
  streamType = 'text/event-stream; charset=utf-8';

  /** The headers leave with the first bytes: one packet, one system call. */
  startStream(): void {
    if (this.isGone || this.isStarted) return;
    // The two last headers keep nginx and compressing proxies from holding events back.
    this.#headers['content-type'] = this.streamType;
    this.#headers['cache-control'] = 'no-cache, no-transform';
    this.#headers['x-accel-buffering'] = 'no';
    this.#outgoing.writeHead(200, this.#headers);
  }

  /** False when the client reads slower than bytes come: stop until `onDrain`. */
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

  /** Bytes wait for the client. */
  get isBlocked(): boolean {
    return this.#stalledSince !== null;
  }

  /** To be asked while the answer is being written; its last bytes are watched here. */
  isStalled(now: number): boolean {
    return this.#stalledSince !== null && now - this.#stalledSince > this.#stallMs;
  }

  /** Ends the answer once. */
  endWith(bytes: Uint8Array): void {
    if (this.isGone || this.#outgoing.writableEnded) return;
    this.#outgoing.end(bytes);
    this.#watchLastBytes();
  }

  /** Cuts the connection: the answer cannot be made whole any more. */
  cut(): void {
    this.#outgoing.destroy();
  }

  /** Ends the answer for its client, with this error where none has begun: its maker sees a client that has left. */
  dismiss(status: number, body: Uint8Array): void {
    if (this.isGone) return;
    if (this.isStarted) this.cut();
    else this.send(status, body);
    this.#isDismissed = true;
  }

  /**
   * They may lie in the socket long after the request is over. A timer of its own looks whether they become fewer: Node's time-out of the socket
   * restarts with every byte that the client sends.
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

/** A client that reads nothing is cut a quarter late at most. */
const LOOKS_PER_STALL = 4;

/** Bytes that the system has not taken yet. A single large write counts as a whole until its end in `writableLength`; the handle knows how much of it is left. */
function waitingBytes(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: { writeQueueSize?: number } | null };
  return handle?.writeQueueSize ?? socket.writableLength;
}
