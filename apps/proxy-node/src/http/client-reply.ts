import type { ServerResponse } from 'node:http';

/** The one way bytes reach a client. Written straight to the socket's response: no web stream stands between upstream and client. */
export class ClientReply {
  readonly #outgoing: ServerResponse;
  readonly #headers: Record<string, string>;
  #stalledSince: number | null = null;

  constructor(outgoing: ServerResponse, rid: string) {
    this.#outgoing = outgoing;
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

  /** The client hung up, or was cut, before the answer was whole. */
  get isGone(): boolean {
    return this.#outgoing.destroyed && !this.#outgoing.writableFinished;
  }

  /** Status of the answer so far; 499 when the client left before there was one. */
  get status(): number {
    return this.#outgoing.headersSent ? this.#outgoing.statusCode : 499;
  }

  /** Calls back once when the client goes before the answer is whole. */
  onGone(listener: () => void): void {
    this.#outgoing.once('close', () => {
      if (!this.#outgoing.writableFinished) listener();
    });
  }

  send(status: number, body: Uint8Array | string, contentType = 'application/json'): void {
    if (this.isGone || this.isStarted) return;
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
    this.#outgoing.writeHead(status, { ...this.#headers, 'content-type': contentType, 'content-length': String(length) });
    this.#outgoing.end(body);
  }

  sendJson(status: number, body: unknown): void {
    this.send(status, JSON.stringify(body));
  }

  /** The headers leave with the first bytes: one packet, one system call. */
  startStream(): void {
    if (this.isGone || this.isStarted) return;
    // The two last headers keep nginx and compressing proxies from holding events back.
    this.#outgoing.writeHead(200, { ...this.#headers, 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' });
  }

  /** False when the client reads slower than bytes come: stop until `onDrain`. */
  write(bytes: Uint8Array): boolean {
    if (bytes.byteLength === 0 || this.isGone) return true;
    const isFlowing = this.#outgoing.write(bytes);
    if (!isFlowing) this.#stalledSince ??= Date.now();
    return isFlowing;
  }

  onDrain(listener: () => void): void {
    this.#outgoing.once('drain', () => {
      this.#stalledSince = null;
      listener();
    });
  }

  /** ms the client has read nothing although bytes wait for it. */
  stalledMs(now: number): number {
    return this.#stalledSince === null ? 0 : now - this.#stalledSince;
  }

  end(): void {
    if (!this.isGone) this.#outgoing.end();
  }

  /** Cuts the connection: the answer cannot be made whole any more. */
  cut(): void {
    this.#outgoing.destroy();
  }
}
