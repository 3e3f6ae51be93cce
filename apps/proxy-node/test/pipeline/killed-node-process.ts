import { ServerResponse } from 'node:http';
import { pino } from 'pino';
import { readConfig } from '../../src/config.ts';
import { startNode } from '../../src/wire.ts';

/** Runs a proxy node of its own process, over the settings in its environment; sends its port to its parent. */
async function main(): Promise<void> {
  if (process.env['KILL_AT_END'] === '1') killOnceAnswered();
  const config = readConfig(process.env);
  const node = await startNode(config, pino({ level: config.LOG_LEVEL }));
  process.once('disconnect', () => void node.stop().then(() => process.exit(0)));
  process.send?.({ port: node.port });
}

/** Dies with -9 in the very call that handed the last bytes of the first request's answer to the kernel: nothing of the node runs after it. */
function killOnceAnswered(): void {
  const { end } = ServerResponse.prototype;
  ServerResponse.prototype.end = function (this: ServerResponse, ...rest: never[]) {
    const ended = Reflect.apply(end, this, rest);
    if (this.req.url?.startsWith('/v1/') && this.socket?.writableLength === 0)
      process.kill(process.pid, 'SIGKILL');
    return ended;
  };
}

await main();
