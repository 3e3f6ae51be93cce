import type { EventEmitter } from 'node:events';

/** A reader that has seen enough, as `head` has, closes its end of the pipe: what is still written has no reader, and that is no failure. */
export function onReaderGone(output: EventEmitter, act: () => void): void {
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    act();
  });
}
