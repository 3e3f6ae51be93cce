import { createServer, type RequestListener, type Server } from 'node:http';
import { refuseUnclearFraming } from '@tollgate/contracts';

export interface ServerLimits {
  headerBytesMax: number;
  headerTimeoutMs: number;
  bodyTimeoutMs: number;
}

/** An idle connection costs little; the idle time-out of the next hop (usually 60 s) must be shorter than this. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const CONNECTION_CHECK_MS = 2_000;
const HEADERS_MAX = 200;
/**
 * The system accepts this many connections for a process that is busy for a moment. With Node's default of 511, some of 2,000 streams that came
 * within seconds were reset.
 */
const WAITING_CONNECTIONS_MAX = 4_096;

/** A client that still sends after an early answer is read, and its bytes are discarded; `requestTimeout` bounds that. */
export function createHttpServer(app: RequestListener, limits: ServerLimits): Server {
  const server = createServer(
    {
      maxHeaderSize: limits.headerBytesMax,
      headersTimeout: limits.headerTimeoutMs,
      requestTimeout: limits.bodyTimeoutMs,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTION_CHECK_MS,
      insecureHTTPParser: false,
      noDelay: true,
    },
    app,
  );
  server.maxHeadersCount = HEADERS_MAX;
  refuseUnclearFraming(server);
  return server;
}

/** Resolves with the port when connections are accepted; rejects when the address is not available. */
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
