import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { SnapshotFollower } from '../snapshot/snapshot-follower.ts';
import type { UpstreamPools } from '../upstream/upstream-pools.ts';
import type { Gate } from '../pipeline/request/gate.ts';
import type { NodeReporter } from '../fleet/node-reporter.ts';

export interface StopParts {
  server: Server;
  gate: Gate;
  /** Ends all answers now; `Pipeline` implements it. */
  pipeline: { cut(): void };
  reporter: NodeReporter;
  follower: SnapshotFollower;
  /** Leaves background runs to the next process on the journal; `BackgroundRuns` implements it. */
  background: { close(): void };
  recorder: { close(timeoutMs: number): Promise<void> };
  pools: UpstreamPools;
  /** Closes all connections that are still open. */
  disconnect: () => void | Promise<void>;
  /** Is the time between the end of readiness and the end of service. */
  noticeMs: number;
  drainTimeoutMs: number;
  /** Is the time for usage to reach PostgreSQL before the process ends. The rest stays in the journal, which the next process settles. */
  handOverMs?: number | undefined;
  log: Logger;
}

const HAND_OVER_MS = 5_000;
/** Is the time for cut answers to be counted and reported. */
const CUT_MS = 2_000;
const FLUSH_MS = 500;

/**
 * Stops a node without losing a request. Readiness fails first; requests that still arrive are served, running ones finish within the drain time,
 * their usage is handed over, and only then are connections closed. Streams that outlast the drain end with an error of their protocol and are billed
 * for what was delivered.
 */
export async function stopNode({
  server,
  gate,
  pipeline,
  reporter,
  follower,
  background,
  recorder,
  pools,
  disconnect,
  noticeMs,
  drainTimeoutMs,
  handOverMs = HAND_OVER_MS,
  log,
}: StopParts): Promise<void> {
  log.info({ in_flight: gate.inFlight }, 'draining');
  gate.giveNotice();
  void reporter.report();
  await delay(noticeMs);
  const drained = gate.drain(drainTimeoutMs);
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  if (!(await drained)) {
    log.warn({ in_flight: gate.inFlight }, 'requests ran longer than the drain and are ended');
    pipeline.cut();
    await gate.drain(CUT_MS);
  }
  // The last bytes of the last answers are still on their way.
  await Promise.race([closed, delay(FLUSH_MS, undefined, { ref: false })]);
  server.closeAllConnections();
  // Requests that were still being received had not been admitted.
  await gate.drain(CUT_MS);
  await closed;
  reporter.stop();
  follower.stop();
  background.close();
  await recorder.close(handOverMs);
  await pools.close();
  await disconnect();
  log.info('stopped');
}
