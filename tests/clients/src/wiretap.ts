import {
  createServer,
  request,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** Is one request of a client as it went over the wire. */
export interface Call {
  method: string;
  path: string;
  status: number;
  /** Is `x-request-id` of the answer: the key of the usage row. */
  rid: string;
  body: string;
  /** Lists the fields that did not reach the upstream, as the answer names them. */
  dropped: string | null;
}

/** Stands between a client and a node, changes nothing, and knows how often the client really asked. */
export class Wiretap {
  readonly calls: Call[] = [];
  readonly #server: Server;

  constructor(target: string) {
    this.#server = createServer((incoming, outgoing) =>
      this.#pass(new URL(target), incoming, outgoing),
    );
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Returns calls that ask a model for an answer: probes and token counts cost nothing. */
  get inference(): Call[] {
    return this.calls.filter(
      ({ method, path }) => method === 'POST' && !path.includes('count_tokens'),
    );
  }

  #pass(target: URL, incoming: IncomingMessage, outgoing: ServerResponse): void {
    const call: Call = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      status: 0,
      rid: '',
      body: '',
      dropped: null,
    };
    this.calls.push(call);
    const onward = request(
      {
        host: target.hostname,
        port: target.port,
        method: call.method,
        path: call.path,
        headers: incoming.headers,
      },
      (answer) => {
        call.status = answer.statusCode ?? 0;
        call.rid = String(answer.headers['x-request-id'] ?? '');
        call.dropped = answer.headers['x-tollgate-dropped']?.toString() ?? null;
        outgoing.writeHead(call.status, answer.headers);
        outgoing.flushHeaders();
        answer.pipe(outgoing);
      },
    );
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => outgoing.writableFinished || onward.destroy());
    incoming.on('data', (bytes: Buffer) => (call.body += bytes.toString('utf8')));
    incoming.pipe(onward);
  }
}
