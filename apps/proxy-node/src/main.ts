import cluster from 'node:cluster';
import { tuneForServing } from '@tollgate/contracts';
import { readConfig, workerCount, type Config } from './config.ts';
import { createLog } from './operations/log.ts';
import { keepWorkers, primaryOfThis } from './workers/primary.ts';
import { startNode } from './wire.ts';

tuneForServing();

const config = configOrExit();
const log = createLog(config);
process.on('unhandledRejection', (error) => log.error({ err: error }, 'unhandled rejection'));

const count = workerCount(config);
if (cluster.isPrimary && count > 1) {
  const workers = keepWorkers({ config, count, log });
  stopOnSignal(
    () => workers.stop(),
    () => workers.kill(),
  );
} else {
  const node = await startNode(config, log, primaryOfThis());
  log.info({ host: config.HOST, port: node.port }, 'serving');
  stopOnSignal(
    () => node.stop(),
    () => undefined,
  );
}

function stopOnSignal(stop: () => Promise<void>, hurry: () => void): void {
  let stopping: Promise<void> | undefined;
  const begin = (): void => {
    stopping ??= stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.fatal({ err: error }, 'stopping failed');
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      // A second signal asks for an immediate stop; a worker receives its primary's signal as well as the terminal's.
      if (stopping && !cluster.isWorker) {
        hurry();
        process.exit(1);
      }
      begin();
    });
  }
  if (!cluster.worker) return;
  // Without its primary a worker has no port. By default it would exit at once, but its running streams get the drain time.
  const { worker } = cluster;
  worker.on('disconnect', () => {
    worker.exitedAfterDisconnect = true;
    begin();
  });
}

function configOrExit(): Config {
  try {
    return readConfig(process.env);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(2);
  }
}
