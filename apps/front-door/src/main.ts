import { tuneForServing } from '@tollgate/contracts';
import { loadConfig } from './config.ts';
import { createFrontDoor } from './front-door.ts';

async function main(): Promise<void> {
  tuneForServing();
  const config = loadConfig(process.env);
  const { server, pool, close } = createFrontDoor(config, (line) =>
    process.stdout.write(`${new Date().toISOString()} ${line}\n`),
  );
  await pool.start();
  server.listen(config.PORT, config.HOST);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => void close(config.DRAIN_TIMEOUT_MS).then(() => process.exit(0)));
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
