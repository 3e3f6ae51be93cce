import 'reflect-metadata';
import { InvalidConfig, loadConfig } from './config.ts';
import { createApp } from './create-app.ts';
import { createPino } from './platform/logging/logger.ts';

async function main(): Promise<void> {
  const config = loadConfig(process.env);
  const pino = createPino(config.LOG_LEVEL);
  const app = await createApp(config, pino);
  await app.listen(config.PORT, config.HOST);
  pino.info({ url: await app.getUrl() }, 'control plane is listening');
}

main().catch((error: unknown) => {
  // The logger may not exist yet; a wrong setting is told in plain words, without a stack.
  process.stderr.write(error instanceof InvalidConfig ? `The control plane cannot start:\n${error.message}\n` : `${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
