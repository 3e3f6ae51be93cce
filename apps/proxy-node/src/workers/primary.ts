import cluster from 'node:cluster';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { WorkerKeeper, type WorkerProcess } from './worker-keeper.ts';
import { ScrapeGatherer, type PrimaryPort } from './worker-scrape.ts';

/** Is time on top of the drain: to report cut streams, to hand usage over, and to let go. */
const STOP_MARGIN_MS = 10_000;

/**
 * Turns this process into the primary of a node: it holds the port, on which every worker accepts connections itself. Handed out one by one
 * (cluster's default), a connection on its way to a worker that is killed would hang until its client gives up.
 */
export function keepWorkers({
  config,
  count,
  log,
}: {
  config: Config;
  count: number;
  log: Logger;
}): WorkerKeeper {
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  const keeper = new WorkerKeeper({
    count,
    firstIndex: config.NODE_WORKER,
    fork,
    stopTimeoutMs: config.DRAIN_NOTICE_MS + config.DRAIN_TIMEOUT_MS + STOP_MARGIN_MS,
    log,
  });
  const scrapes = new ScrapeGatherer();
  cluster.on('message', (worker, message: unknown) => scrapes.receive(worker, message));
  cluster.on('exit', (worker) => scrapes.forget(worker));
  keeper.start();
  return keeper;
}

/** Returns this process's channel to its primary; null when it has none. What cannot be sent is lost: without a callback the failure would end the process. */
export function primaryOfThis(): PrimaryPort | null {
  const { worker } = cluster;
  return worker
    ? {
        send: (message) => worker.isConnected() && worker.send(message, () => undefined),
        on: (event, listener) => process.on(event, listener),
      }
    : null;
}

function fork(index: number): WorkerProcess {
  const worker = cluster.fork({ NODE_WORKER: String(index) });
  // A worker that ends while it is spoken to must not take the primary with it.
  worker.on('error', () => undefined);
  const gone = new Promise<number | string>((resolve) =>
    worker.once('exit', (code: number | null, signal: string | null) =>
      resolve(signal ?? code ?? 'unknown'),
    ),
  );
  return { pid: worker.process.pid, gone, kill: (signal) => void worker.process.kill(signal) };
}
