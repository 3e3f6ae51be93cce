import type { Server } from 'node:http';
import type { Logger } from 'pino';
import type { SnapshotFollower } from '../snapshot/snapshot-follower.ts';
import type { UpstreamPools } from '../upstream/upstream-pools.ts';
import type { Gate } from './gate.ts';
import type { NodeReporter } from './node-reporter.ts';

export interface StopParts {
  server: Server;
  gate: Gate;
  reporter: NodeReporter;
  follower: SnapshotFollower;
  books: { close(timeoutMs: number): Promise<void> };
  pools: UpstreamPools;
  disconnect: () => void;
  drainTimeoutMs: number;
  log: Logger;
}

/** Time for usage to reach PostgreSQL before the process ends; what is left stays in the journal, which the next process settles. */
const HAND_OVER_MS = 5_000;

/**
 * Ends a node without losing a request: readiness fails first, running requests finish within the drain time, their usage is handed over,
 * and only then are connections closed. Streams that outlast the drain are cut and billed for what was delivered.
 */
export async function stopNode({ server, gate, reporter, follower, books, pools, disconnect, drainTimeoutMs, log }: StopParts): Promise<void> {
  log.info({ in_flight: gate.inFlight }, 'draining');
  const drained = gate.drain(drainTimeoutMs);
  void reporter.report();
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  if (!(await drained)) {
    log.warn({ in_flight: gate.inFlight }, 'requests outlasted the drain and are cut');
    server.closeAllConnections();
    await gate.drain(HAND_OVER_MS);
  }
  server.closeAllConnections();
  await closed;
  reporter.stop();
  follower.stop();
  await books.close(HAND_OVER_MS);
  await pools.close();
  disconnect();
  log.info('stopped');
}
