import { readConfig, type Config } from './config.ts';
import { createLog } from './ops/log.ts';
import { startNode } from './wire.ts';

const config = configOrExit();
const log = createLog(config);
const node = await startNode(config, log);
log.info({ host: config.HOST, port: node.port }, 'serving');

let isStopping = false;
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    // A second signal is somebody in a hurry.
    if (isStopping) process.exit(1);
    isStopping = true;
    node.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.fatal({ err: error }, 'stopping failed');
        process.exit(1);
      },
    );
  });
}

process.on('unhandledRejection', (error) => log.error({ err: error }, 'unhandled rejection'));

function configOrExit(): Config {
  try {
    return readConfig(process.env);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(2);
  }
}
