import type { Server } from 'node:http';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import { refuseUnclearFraming } from '@tollgate/contracts';
import type { Hono } from 'hono';

export interface ServerLimits {
  headerBytesMax: number;
  headerTimeoutMs: number;
  bodyTimeoutMs: number;
}

/** Requests waiting on one idle connection are cheap; the next hop's own idle time-out (usually 60 s) must be the shorter one. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const CONNECTION_CHECK_MS = 2_000;
const HEADERS_MAX = 200;
/** Connections the system accepts for a process that is busy for a moment. With Node's 511 some of 2,000 streams that came within seconds were reset. */
const WAITING_CONNECTIONS_MAX = 4_096;

export function createHttpServer(
  app: Hono<{ Bindings: HttpBindings }>,
  limits: ServerLimits,
): Server {
  const server = createAdaptorServer({
    fetch: app.fetch,
    // Nothing here is rendered through web Responses, and other libraries must keep the platform's own.
    overrideGlobalObjects: false,
    // It resets a client that is still sending half a second after an early answer. Node discards the rest of a body; `requestTimeout` bounds it.
    autoCleanupIncoming: false,
    serverOptions: {
      maxHeaderSize: limits.headerBytesMax,
      headersTimeout: limits.headerTimeoutMs,
      requestTimeout: limits.bodyTimeoutMs,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTION_CHECK_MS,
      insecureHTTPParser: false,
      noDelay: true,
    },
  }) as Server;
  server.maxHeadersCount = HEADERS_MAX;
  refuseUnclearFraming(server);
  return server;
}

/** Resolves with the port once connections are accepted; rejects when the address cannot be had. */
export function listen(
  server: Server,
  { host, port }: { host: string; port: number },
): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: WAITING_CONNECTIONS_MAX }, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}
