import { Agent, type ClientRequestArgs } from 'node:http';
import { connect, type NetConnectOpts } from 'node:net';
import type { Duplex } from 'node:stream';

const CONNECT_TIMEOUT_MS = 2_000;
/** Kept for the next request; streams in use are not limited. */
const IDLE_SOCKETS_MAX = 256;

/** No connection was ever made: the target has seen nothing of the request, so another may get it. */
export class NeverConnected extends Error {}

/**
 * Hands a socket to a request only once it is connected. Node's own agent hands it over at once, and the request's body starts to flow
 * into it: after a refused connection those bytes would be gone, and the request could not go to another target.
 */
export class ConnectFirstAgent extends Agent {
  constructor(private readonly localAddress: string | undefined) {
    super({ keepAlive: true, maxSockets: Infinity, maxFreeSockets: IDLE_SOCKETS_MAX });
  }

  override createConnection(
    options: ClientRequestArgs,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): null {
    const { localAddress } = this;
    const socket = connect({
      ...(options as NetConnectOpts),
      noDelay: true,
      ...(localAddress !== undefined && { localAddress }),
    });
    const settle = (error: Error | null): void => {
      socket.off('connect', onConnect).off('error', onError).off('timeout', onTimeout);
      socket.setTimeout(0);
      if (error) socket.destroy();
      callback?.(error, socket);
    };
    const onConnect = (): void => settle(null);
    const onError = (error: Error): void =>
      settle(new NeverConnected(error.message, { cause: error }));
    const onTimeout = (): void => settle(new NeverConnected('connecting took too long'));
    socket.once('connect', onConnect).once('error', onError).once('timeout', onTimeout);
    socket.setTimeout(CONNECT_TIMEOUT_MS);
    return null;
  }
}
