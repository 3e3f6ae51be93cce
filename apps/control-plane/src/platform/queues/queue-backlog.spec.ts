import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import { BULL_PREFIX, openRedis, redisReady, type RedisConnection } from '@tollgate/keyspace';
import { Queue, Worker } from 'bullmq';
import { loadConfig } from '../../config.ts';
import { environmentFor } from '../../testing/control-plane-under-test.ts';
import { QueueBacklog } from './queue-backlog.ts';

let services: Services;
let connection: RedisConnection;
let queue: Queue;
let worker: Worker;
let backlog: QueueBacklog;
beforeAll(async () => {
  services = await startServices({ postgres: false });
  const order = { name: 'spec', onError: () => undefined };
  connection = openRedis(services.redisUrls.queue, { role: 'queue_worker', ...order });
  await redisReady(connection, 5_000);
  queue = new Queue('usage', { connection, prefix: BULL_PREFIX });
  worker = new Worker('usage', null, { connection, prefix: BULL_PREFIX, autorun: false });
  const { redisUrl, redisUrls } = services;
  const environment = environmentFor(
    { databaseUrl: 'postgresql://none', redisUrl },
    { REDIS_QUEUE_URL: redisUrls.queue },
  );
  backlog = new QueueBacklog(loadConfig(environment));
}, 30_000);
afterAll(async () => {
  backlog?.onApplicationShutdown();
  await worker?.close();
  await queue?.close();
  connection?.disconnect();
  await services?.stop();
});

test('the oldest job is the one that was added first, whether it waits, is tried, or rests before it is repeated', async () => {
  const oldest = async () => (await backlog.standing('usage')).oldestAtMs;
  expect(await oldest()).toBeNull();
  await queue.add('tried', {}, { timestamp: 1_000 });
  const tried = await worker.getNextJob('token');
  expect(tried?.name).toBe('tried');
  expect(await oldest()).toBe(1_000);
  await queue.add('resting', {}, { timestamp: 2_000, delay: 600_000 });
  await queue.add('waiting', {}, { timestamp: 3_000 });
  expect(await oldest()).toBe(1_000);
  await tried?.moveToCompleted(null, 'token', false);
  expect(await oldest()).toBe(2_000);
});
