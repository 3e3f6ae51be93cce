import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { endConnectionsOnClose, parseRanges, refuseUnclearFraming } from '@tollgate/contracts';
import type { Config } from './config.ts';
import { createForward, NeverConnected, type Forward } from './forward.ts';
import { NodePool, type ProxyNode } from './node-pool.ts';
import { cleanRequestHeaders } from './proxy-headers.ts';
import { sendFailure } from './send-failure.ts';

/** Equals a node's limit: the front door must not be the stricter of the two. */
const HEADER_BYTES_MAX = 32 * 1024;
/** Is the interval in which slow heads are looked for, as at a node. Node's 30 s would let each live that much longer. */
const CONNECTION_CHECK_MS = 2_000;
/** Is longer than clients and load balancers keep idle connections, so that it is they who close them. */
const KEEP_ALIVE_MS = 75_000;

const SERVER_OPTIONS = {
  maxHeaderSize: HEADER_BYTES_MAX,
  connectionsCheckingInterval: CONNECTION_CHECK_MS,
  keepAliveTimeout: KEEP_ALIVE_MS,
  requestTimeout: 0,
};

export interface FrontDoor {
  server: Server;
  pool: NodePool;
  /** Stops accepting, waits for running requests, then cuts them. */
  close: (drainTimeoutMs: number) => Promise<void>;
}

/** Makes one address for both interfaces: the proxy interface goes to a ready node, everything else to the control plane. Nothing is buffered or repeated. */
export function createFrontDoor(
  config: Pick<
    Config,
    | 'CONTROL_PLANE_URL'
    | 'PROXY_URLS'
    | 'HEALTH_CHECK_MS'
    | 'HEADER_TIMEOUT_MS'
    | 'TRUSTED_PROXIES'
    | 'CONNECT_FROM'
  >,
  log: (line: string) => void,
): FrontDoor {
  const pool = new NodePool({
    urls: config.PROXY_URLS.map(withoutSlash),
    checkIntervalMs: config.HEALTH_CHECK_MS,
    log,
  });
  const forward = createForward(config.CONNECT_FROM);
  const trusted = parseRanges(config.TRUSTED_PROXIES);
  const controlPlaneUrl = withoutSlash(config.CONTROL_PLANE_URL);
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pathname = usePathForm(request);
    if (pathname === '/healthz') return sendStatus(response, 200, 'ok');
    if (pathname === '/readyz') return sendReadiness(response, pool);
    cleanRequestHeaders(request, trusted);
    if (isInternal(pathname)) return sendStatus(response, 404, 'not found');
    if (isForNode(request.method, pathname)) return toNode(pool, forward, request, response);
    return toControlPlane(controlPlaneUrl, forward, request, response);
  };
  const options = { ...SERVER_OPTIONS, headersTimeout: config.HEADER_TIMEOUT_MS };
  const server = createServer(options, (request, response) => {
    handle(request, response).catch((error: unknown) => {
      log(`${request.method} ${request.url?.split('?')[0]}: ${String(error)}`);
      sendFailure(response, 'bad_gateway', nodePathOf(request));
    });
  });
  refuseUnclearFraming(server);
  endConnectionsOnClose(server);
  return { server, pool, close: (drainTimeoutMs) => close(server, pool, drainTimeoutMs) };
}

/**
 * Matches paths that only nodes and Prometheus use, which reach the control plane directly. It matches every spelling, because a router behind may
 * fold case, decode or join slashes.
 */
function isInternal(pathname: string): boolean {
  const read = decodedPath(pathname)
    .toLowerCase()
    .replace(/[/\\]+/g, '/');
  return /(?:^|\/\.\.)\/(?:internal|metrics$|metrics\/)/.test(read);
}

/** Decodes a path until nothing is left to decode; undecodable text stays as it is. */
function decodedPath(pathname: string): string {
  try {
    const decoded = decodeURIComponent(pathname);
    return decoded === pathname ? decoded : decodedPath(decoded);
  } catch {
    return pathname;
  }
}

/** Returns true for /v1/* and the probes that coding clients send to find out whether a gateway is there (docs/design/protocols.md#keys-and-versions). */
function isForNode(method: string | undefined, pathname: string): boolean {
  if (pathname === '/v1' || /^\/v1(?:beta)?\//.test(pathname)) return true;
  if (pathname === '/api/hello') return method === 'HEAD' || method === 'GET';
  return pathname === '/' && method === 'HEAD';
}

/** Returns the path of a request for a node, already in path form; undefined when it is for the control plane. */
function nodePathOf({ method, url }: IncomingMessage): string | undefined {
  const [pathname = '/'] = (url ?? '/').split('?', 1);
  return isForNode(method, pathname) ? pathname : undefined;
}

async function toNode(
  pool: NodePool,
  forward: Forward,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const refused = new Set<ProxyNode>();
  for (let node = pool.pick(); node; node = pool.pick(refused)) {
    node.inFlight += 1;
    try {
      return await forward(request, response, node.url);
    } catch (error) {
      if (!mayGoElsewhere(error, request)) throw error;
      pool.markUnreachable(node);
      refused.add(node);
    } finally {
      node.inFlight -= 1;
    }
  }
  sendFailure(response, 'no_node_ready', nodePathOf(request));
}

async function toControlPlane(
  url: string,
  forward: Forward,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    await forward(request, response, url);
  } catch (error) {
    if (!(error instanceof NeverConnected)) throw error;
    sendFailure(response, 'control_plane_unavailable', undefined);
  }
}

/** Returns whether another target may get the request: only while no connection was made. Anything later may have been admitted and charged. */
function mayGoElsewhere(error: unknown, request: IncomingMessage): boolean {
  return error instanceof NeverConnected && !request.destroyed;
}

/** A path that climbs is resolved before it is routed, as the service behind resolves it too: `/v1/../x` is not the proxy interface. */
const CLIMBING = /\/(?:\.|%2e){1,2}(?:[/?]|$)/i;

/** A request line may hold a whole URL (RFC 9112 3.2.2); what is routed and passed on is its path. Returns the path without the query. */
function usePathForm(request: IncomingMessage): string {
  let text = request.url ?? '/';
  if (text.startsWith('/') && CLIMBING.test(text)) text = `http://front-door${text}`;
  if (!text.startsWith('/')) {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    request.url = url ? `${url.pathname}${url.search}` : '/';
  }
  return (request.url as string).split('?', 1)[0] as string;
}

function sendReadiness(response: ServerResponse, pool: NodePool): void {
  const isReady = pool.isAnyUsable;
  sendStatus(response, isReady ? 200 : 503, isReady ? 'ready' : 'no node is ready');
}

function sendStatus(response: ServerResponse, code: number, status: string): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify({ status }));
}

async function close(server: Server, pool: NodePool, drainTimeoutMs: number): Promise<void> {
  pool.stop();
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  const cut = setTimeout(() => server.closeAllConnections(), drainTimeoutMs);
  await closed;
  clearTimeout(cut);
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}
