import { subscribe } from 'node:diagnostics_channel';

interface Listener {
  connected(isReused: boolean): void;
}

const used = new WeakSet<object>();
let waiting: Listener | null = null;

/**
 * To be called from `onRequestStart`: reports at once whether the request goes out on a connection that has carried another. undici does not report
 * a handler its connection, but publishes it right after `onRequestStart`, before anything else can run.
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
