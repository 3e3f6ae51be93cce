import { subscribe } from 'node:diagnostics_channel';

interface Listener {
  connected(isReused: boolean): void;
}

const used = new WeakSet<object>();
let waiting: Listener | null = null;

/**
 * Reports at once whether the request uses a connection that has carried another one. Call it in `onRequestStart`: undici does not give a handler its
 * connection, but publishes it directly after `onRequestStart`, before any other code runs.
 */
export function onConnection(listener: Listener): void {
  waiting = listener;
}

subscribe('undici:client:sendHeaders', (message) => {
  const listener = waiting;
  waiting = null;
  if (typeof message !== 'object' || message === null || !('socket' in message)) return;
  const { socket } = message;
  if (typeof socket !== 'object' || socket === null) return;
  listener?.connected(used.has(socket));
  used.add(socket);
});
