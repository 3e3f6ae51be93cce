import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createFrontDoor } from '../front-door.ts';

const servers: { close: () => unknown }[] = [];

/** Closes all that the test began. */
export async function closeServers(): Promise<void> {
  for (const server of servers.splice(0)) await server.close();
}

export async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  servers.push({ close: () => (server.closeAllConnections(), server.close()) });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Starts a node or control plane that is ready and answers with `handler`. */
export function backend(handler: RequestListener): Promise<string> {
  return listen(
    createServer((incoming, response) =>
      incoming.url === '/readyz' ? response.end() : handler(incoming, response),
    ),
  );
}

export const named = (name: string): Promise<string> =>
  backend((incoming, response) => response.end(`${name} ${incoming.method} ${incoming.url}`));

/** Returns an address on which no server listens. */
export async function closedAddress(): Promise<string> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return `http://127.0.0.1:${port}`;
}

export async function frontDoor({
  nodes,
  controlPlane,
  ...settings
}: {
  nodes: string[];
  controlPlane?: string;
  TRUSTED_PROXIES?: string;
  CONNECT_FROM?: string;
  HEADER_TIMEOUT_MS?: number;
}): Promise<{ url: string; nodes: ReturnType<typeof createFrontDoor>['pool']['nodes'] }> {
  const door = createFrontDoor(
    {
      CONTROL_PLANE_URL: controlPlane ?? (await closedAddress()),
      PROXY_URLS: nodes,
      HEALTH_CHECK_MS: 50,
      TRUSTED_PROXIES: '',
      CONNECT_FROM: undefined,
      HEADER_TIMEOUT_MS: 10_000,
      ...settings,
    },
    () => {},
  );
  await door.pool.start();
  const url = await listen(door.server);
  servers.push({ close: () => door.pool.stop() });
  return { url, nodes: door.pool.nodes };
}

export async function readBody(incoming: IncomingMessage): Promise<string> {
  let text = '';
  for await (const bytes of incoming) text += String(bytes);
  return text;
}
