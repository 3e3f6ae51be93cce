import type { Server } from 'node:http';

/** This is longer than reverse proxies and clients keep an idle connection (usually 60 s), so that a client that reuses one does not find it closed. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;
/** A client must send its headers, and all of a small body, within this time; slower clients only hold connections. */
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 30_000;

export function limitConnections(server: Server): void {
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
}
