import { configSchema } from './config.ts';
import { createDemoUpstream } from './server.ts';

const config = configSchema.parse(process.env);
const { server } = createDemoUpstream(config.RECORD_FILE ? { recordFile: config.RECORD_FILE } : {});
server.listen(config.PORT, config.HOST, () =>
  process.stdout.write(`demo-upstream listens on http://${config.HOST}:${config.PORT}\n`),
);
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    server.close(() => process.exit(0));
    server.closeAllConnections();
  });
}
