import type { EventEmitter } from 'node:events';
import { hasChunkExtension, type ReadSocket } from './chunk-extensions.ts';

/** Names the members of node:http's IncomingMessage and ServerResponse that this file reads. The library has no I/O of its own. */
interface Request {
  httpVersionMajor: number;
  httpVersionMinor: number;
  headers: Readonly<Record<string, unknown>>;
  /** Holds names and values in turn. */
  rawHeaders: readonly string[];
  socket: ReadSocket & { destroy: () => unknown };
}
interface Response {
  writeHead: (status: number, headers: object) => { end: (onSent: () => void) => unknown };
}

/**
 * Answers 400 and closes the connection where a proxy in front may read the end of a request in another place than Node, which would hide
 * a second request in the first: HTTP/1.0 with Transfer-Encoding (RFC 9112 6.1), and chunk extensions, which no client sends. So it does where several
 * Host fields leave open which of them a proxy has read (RFC 9112 3.2), and where the request is of HTTP/0.9, which has no fields and no status at all.
 */
export function refuseUnclearFraming(server: EventEmitter): void {
  const emit = server.emit.bind(server);
  const refused = new WeakSet<object>();
  server.emit = (event: string | symbol, ...parts: unknown[]): boolean => {
    if (event !== 'request' && event !== 'checkContinue') return emit(event, ...parts);
    const [request, response] = parts as [Request, Response];
    // The same read can contain more bytes behind a refused request.
    if (refused.has(request.socket)) return true;
    if (!isUnclear(request)) return emit(event, ...parts);
    refused.add(request.socket);
    response.writeHead(400, { connection: 'close' }).end(() => request.socket.destroy());
    return true;
  };
}

function isUnclear({
  httpVersionMajor,
  httpVersionMinor,
  headers,
  rawHeaders,
  socket,
}: Request): boolean {
  if (httpVersionMajor !== 1 || hasSeveralHosts(rawHeaders)) return true;
  if (headers['transfer-encoding'] === undefined) return false;
  const hasChunks = httpVersionMajor === 1 && httpVersionMinor >= 1;
  return !hasChunks || hasChunkExtension(socket);
}

function hasSeveralHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let name = 0; name < rawHeaders.length; name += 2)
    if (rawHeaders[name]?.length === HOST.length && rawHeaders[name]?.toLowerCase() === HOST)
      hosts += 1;
  return hosts > 1;
}

const HOST = 'host';
