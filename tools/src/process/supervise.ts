import { setTimeout as delay } from 'node:timers/promises';
import type { ManagedProcess } from './managed-process.ts';

const FIRST_BACKOFF_MS = 200;
const LONGEST_BACKOFF_MS = 10_000;
/** A run this long counts as healthy: the next crash restarts the backoff. */
const HEALTHY_MS = 30_000;

/** Restarts the process whenever it ends, until aborted. The process has been started already. It never rejects. */
export async function supervise(
  process: ManagedProcess,
  signal: AbortSignal,
  log: (line: string) => void,
): Promise<void> {
  const { name } = process.spec;
  let backoffMs = FIRST_BACKOFF_MS;
  let startedAt = Date.now();
  for (;;) {
    await process.whenExited;
    if (signal.aborted) return;
    if (Date.now() - startedAt > HEALTHY_MS) backoffMs = FIRST_BACKOFF_MS;
    log(
      `${name} ended unexpectedly; starting it again in ${backoffMs} ms (log: ${process.logFile})`,
    );
    await delay(backoffMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    backoffMs = Math.min(backoffMs * 2, LONGEST_BACKOFF_MS);
    startedAt = Date.now();
    try {
      await process.start();
      log(`${name} is back`);
    } catch (error) {
      if (!signal.aborted) log((error as Error).message);
    }
  }
}
