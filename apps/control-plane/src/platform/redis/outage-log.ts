import type { Logger } from '@nestjs/common';

const EVERY_MS = 30_000;

/** Returns a listener for the connection errors of repeated attempts to reconnect. It logs the first error and then one every half minute. */
export function outageLog(logger: Logger, what: string): (error: Error) => void {
  let loggedAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (performance.now() - loggedAt < EVERY_MS) return;
    loggedAt = performance.now();
    logger.warn(error, `${what} failed; trying again until it works`);
  };
}
