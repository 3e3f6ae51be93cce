import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  path: string;
  headers: IncomingHttpHeaders;
  /** Has its very bytes as text. */
  body: string;
}

/** Is an upstream that answers as the running test says, and remembers what it was sent. */
export class ScriptedUpstream {
  readonly url: string;
  readonly #close: () => Promise<void>;
  #requests: SeenRequest[] = [];
  #answer: (response: ServerResponse, request: SeenRequest) => void = (response) =>
    void response.writeHead(500).end();

  private constructor(port: number, close: () => Promise<void>) {
    this.url = `http://127.0.0.1:${port}/v1`;
    this.#close = close;
  }

  static async start(): Promise<ScriptedUpstream> {
    const server = createServer((incoming, response) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () =>
        upstream.#take(response, {
          path: incoming.url ?? '',
          headers: incoming.headers,
          body: Buffer.concat(chunks).toString('utf8'),
        }),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const upstream = new ScriptedUpstream((server.address() as AddressInfo).port, async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    return upstream;
  }

  /** Answers so from now on; what was seen before is forgotten. */
  answers(answer: (response: ServerResponse, request: SeenRequest) => void): void {
    this.#requests = [];
    this.#answer = answer;
  }

  /** Answers a stream request with these events. */
  streams(text: string): void {
    this.answers(
      (response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text),
    );
  }

  says(body: object, status = 200, headers: Record<string, string> = {}): void {
    this.answers(
      (response) =>
        void response
          .writeHead(status, { 'content-type': 'application/json', ...headers })
          .end(JSON.stringify(body)),
    );
  }

  /** Is the last request it got. */
  get last(): SeenRequest {
    const request = this.#requests.at(-1);
    if (!request) throw new Error('the upstream was not asked');
    return request;
  }

  get count(): number {
    return this.#requests.length;
  }

  close(): Promise<void> {
    return this.#close();
  }

  #take(response: ServerResponse, request: SeenRequest): void {
    this.#requests.push(request);
    this.#answer(response, request);
  }
}
