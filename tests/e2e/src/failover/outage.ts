import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Is a provider that answers 500 until its outage ends, and then as the demo upstream does. */
export interface Outage {
  readonly url: string;
  /** Requests it was asked. */
  asked(): number;
  end(): void;
  close(): Promise<void>;
}

export async function startOutage(upstreamUrl: string): Promise<Outage> {
  let isOver = false;
  let asked = 0;
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    asked += 1;
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      if (!isOver) return void response.writeHead(500).end('down');
      relay(`${upstreamUrl}${incoming.url}`, Buffer.concat(chunks)).then(
        ({ type, body }) => response.writeHead(200, { 'content-type': type }).end(body),
        () => response.destroy(),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked: () => asked,
    end: () => {
      isOver = true;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function relay(url: string, body: Buffer): Promise<{ type: string; body: Buffer }> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: body.toString('utf8'),
  });
  const type = answer.headers.get('content-type') ?? '';
  return { type, body: Buffer.from(await answer.arrayBuffer()) };
}
