import type { EventEmitter } from 'node:events';

/** What is read of node:http's IncomingMessage and ServerResponse: this library has no I/O of its own. */
interface Request {
  httpVersionMajor: number;
  httpVersionMinor: number;
  headers: Readonly<Record<string, unknown>>;
  socket: { destroy: () => unknown };
}
interface Response {
  writeHead: (status: number, headers: object) => { end: (onSent: () => void) => unknown };
}

/**
 * Answers 400 to an HTTP/1.0 request with Transfer-Encoding and closes its connection. That version has no chunks: a proxy in front may
 * read where the request ends in another way than Node, which would hide a second request in the first (RFC 9112 6.1).
 */
export function refuseUnclearFraming(server: EventEmitter): void {
  const emit = server.emit.bind(server);
  server.emit = (event: string | symbol, ...parts: unknown[]): boolean => {
    if (event !== 'request' && event !== 'checkContinue') return emit(event, ...parts);
    const [request, response] = parts as [Request, Response];
    if (!isUnclear(request)) return emit(event, ...parts);
    response.writeHead(400, { connection: 'close' }).end(() => request.socket.destroy());
    return true;
  };
}

function isUnclear({ httpVersionMajor, httpVersionMinor, headers }: Request): boolean {
  const hasChunks = httpVersionMajor === 1 && httpVersionMinor >= 1;
  return !hasChunks && headers['transfer-encoding'] !== undefined;
}
