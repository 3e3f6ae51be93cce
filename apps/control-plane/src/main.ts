import 'reflect-metadata';
import { InvalidConfig, loadConfig } from './config.ts';
import { createApp } from './create-app.ts';
import { limitConnections } from './platform/server/connection-limits.ts';
import { createPino } from './platform/logging/logger.ts';

/** A shutdown that takes longer is stuck. The process can be killed safely at any moment. */
const SHUTDOWN_TIMEOUT_MS = 20_000;

async function main(): Promise<void> {
  const config = loadConfig(process.env);
  const pino = createPino(config.LOG_LEVEL);
  const app = await createApp(config, pino);
  limitConnections(await app.listen(config.PORT, config.HOST));
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => setTimeout(() => process.exit(1), SHUTDOWN_TIMEOUT_MS).unref());
  pino.info({ url: await app.getUrl() }, 'control plane is listening');
}

main().catch((error: unknown) => {
  // The logger may not exist yet, so an invalid setting is printed as plain text without a stack.
  process.stderr.write(
    error instanceof InvalidConfig
      ? `The control plane cannot start:\n${error.message}\n`
      : `${error instanceof Error ? error.stack : String(error)}\n`,
  );
  // Connections that are already open would keep the process alive.
  process.exit(1);
});
