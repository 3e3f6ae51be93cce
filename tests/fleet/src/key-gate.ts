import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Stands before an upstream as a provider's door: requests with a key that is not valid get 401. Streams pass as they come. */
export class KeyGate {
  readonly #upstreamUrl: string;
  readonly #valid = new Set<string>();
  readonly #server = createServer((incoming, outgoing) => this.#serve(incoming, outgoing));
  /** Counts the requests by key, since the gate opened. */
  readonly used = new Map<string, number>();

  constructor(upstreamUrl: string) {
    this.#upstreamUrl = upstreamUrl;
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => void this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  allow(key: string): void {
    this.#valid.add(key);
  }

  revoke(key: string): void {
    this.#valid.delete(key);
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #serve(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { authorization = '', 'x-api-key': bare = '' } = incoming.headers;
    const key = authorization.replace(/^Bearer /, '') || String(bare);
    this.used.set(key, (this.used.get(key) ?? 0) + 1);
    if (!this.#valid.has(key)) {
      incoming.resume();
      outgoing.writeHead(401, { 'content-type': 'application/json' });
      outgoing.end('{"error":{"message":"invalid key","type":"invalid_request_error"}}');
      return;
    }
    const { method, headers } = incoming;
    const passed = request(`${this.#upstreamUrl}${incoming.url}`, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  }
}
