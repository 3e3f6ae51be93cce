import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

export interface LocalUpstream {
  baseUrl: string;
  server: Server;
  /** Lists the requests seen, oldest first, with their whole bodies. */
  requests: { incoming: IncomingMessage; body: string }[];
  /** Resolves when the n-th request's connection was cut by its caller. */
  aborted: Promise<void>;
  close(): Promise<void>;
}

/** Starts a real HTTP server for one test; `answer` writes the response, after the request body was read. */
export async function startLocalUpstream(
  answer: (response: ServerResponse, body: string, incoming: IncomingMessage) => unknown,
): Promise<LocalUpstream> {
  const requests: LocalUpstream['requests'] = [];
  const aborted = Promise.withResolvers<void>();
  const listener: RequestListener = (incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      requests.push({ incoming, body });
      response.on('close', () => response.writableFinished || aborted.resolve());
      void answer(response, body, incoming);
    });
  };
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    server,
    requests,
    aborted: aborted.promise,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Starts the upstreams of a spec, which closes all of them at its end. */
export function localUpstreams(): {
  upstreamOf: typeof startLocalUpstream;
  closeUpstreams: () => Promise<void>;
} {
  const started: LocalUpstream[] = [];
  return {
    async upstreamOf(answer) {
      const upstream = await startLocalUpstream(answer);
      started.push(upstream);
      return upstream;
    },
    async closeUpstreams() {
      await Promise.all(started.splice(0).map((upstream) => upstream.close()));
    },
  };
}
