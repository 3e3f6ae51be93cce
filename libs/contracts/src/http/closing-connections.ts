import type { EventEmitter } from 'node:events';

/** The members of node:http's Server that this file reads. The library has no I/O of its own. */
interface Server extends EventEmitter {
  readonly listening: boolean;
  closeIdleConnections: () => void;
}

/**
 * Node's `close` ends the connections that are idle at that moment. This ends each other one after its response; without it, a connection
 * whose request was in progress keeps the server open for the whole keep-alive time.
 */
export function endConnectionsOnClose(server: Server): void {
  server.on('request', (_request, response: EventEmitter) => {
    response.once('close', () => {
      if (!server.listening) server.closeIdleConnections();
    });
  });
}
