import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServices, until, type Services } from '@tollgate/harness';
import { BULL_PREFIX, openRedis, redisReady } from '@tollgate/keyspace';
import { Queue } from 'bullmq';
import { loadConfig, type Config } from '../../config.ts';
import { environmentFor } from '../../testing/control-plane-under-test.ts';
import { Metrics } from '../metrics/metrics.ts';
import { QueueBacklog } from './queue-backlog.ts';
import { QueueWorkers } from './queue-workers.ts';

let services: Services;
let config: Config;
beforeAll(async () => {
  services = await startServices({ postgres: false });
  const { redisUrl, redisUrls } = services;
  const urls = { databaseUrl: 'postgresql://none', redisUrl };
  config = loadConfig(environmentFor(urls, { REDIS_QUEUE_URL: redisUrls.queue }));
}, 30_000);
afterAll(() => services?.stop());

/** Counts the timers that keep this process alive. */
const timers = (): number =>
  process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

async function addJob(): Promise<void> {
  const onError = (): void => undefined;
  const connection = openRedis(services.redisUrls.queue, { role: 'plain', name: 'spec', onError });
  await redisReady(connection, 5_000);
  const queue = new Queue('usage', { connection, prefix: BULL_PREFIX });
  await queue.add('job', {});
  await queue.close();
  connection.disconnect();
}

test('workers that are closed while Redis is away leave no timer behind, whether they wait for jobs or have one, and no question waits', async () => {
  const before = timers();
  await addJob();
  const job = Promise.withResolvers<void>();
  let taken = 0;
  const backlog = new QueueBacklog(config);
  const started = [1, 2].map(() => {
    const workers = new QueueWorkers(config, backlog, new Metrics());
    const options = { concurrency: 2, lockDuration: 30_000, stalledInterval: 5_000 };
    workers.register('usage', () => ((taken += 1), job.promise), options);
    workers.onApplicationBootstrap();
    return workers;
  });
  await until('the job is taken', () => taken === 1);
  await Promise.all(services.redisServers.map((server) => server.kill('SIGKILL')));
  job.resolve();
  const [asked] = await Promise.allSettled([
    backlog.undone('usage'),
    ...started.map((workers) => workers.beforeApplicationShutdown()),
  ]);
  expect(asked.status).toBe('rejected');
  backlog.onApplicationShutdown();
  await until('no timer is left', () => timers() <= before, 10_000);
  expect(taken).toBe(1);
}, 60_000);
