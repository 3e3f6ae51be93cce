import type { Logger } from '@nestjs/common';

const EVERY_MS = 30_000;

/** A listener for connection errors that come with every attempt to reconnect: one line at first, then one every half minute. */
export function outageLog(logger: Logger, what: string): (error: Error) => void {
  let loggedAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (performance.now() - loggedAt < EVERY_MS) return;
    loggedAt = performance.now();
    logger.warn(error, `${what} failed; trying again until it works`);
  };
}
