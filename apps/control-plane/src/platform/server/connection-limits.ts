import type { Server } from 'node:http';

/** Longer than reverse proxies and clients keep an idle connection (60 s is usual): the one who reuses it must not find it closed. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;
/** The time in which a client must send its headers, and all of a small body: slower ones only hold connections. */
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 30_000;

export function limitConnections(server: Server): void {
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
}
