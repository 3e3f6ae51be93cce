import type { EventEmitter } from 'node:events';

/** Names the members of node:http's Server that this file reads. The library has no I/O of its own. */
interface Server extends EventEmitter {
  readonly listening: boolean;
  closeIdleConnections: () => void;
}

/**
 * Ends each connection after its current response when the server closes. Node's `close` ends only the idle connections; without this, a connection
 * with a running request keeps the server open for the whole keep-alive time.
 */
export function endConnectionsOnClose(server: Server): void {
  server.on('request', (_request, response: EventEmitter) => {
    response.once('close', () => {
      if (!server.listening) server.closeIdleConnections();
    });
  });
}
