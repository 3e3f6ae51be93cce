import type { EventEmitter } from 'node:events';

/** Calls `act` when the reader of a pipe closes its end, as `head` does. Further output then has no reader, which is not a failure. */
export function onReaderGone(output: EventEmitter, act: () => void): void {
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    act();
  });
}
