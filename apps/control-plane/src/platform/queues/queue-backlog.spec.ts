import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
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
  backlog = backlogOf(services);
}, 30_000);
afterAll(async () => {
  backlog?.onApplicationShutdown();
  await worker?.close();
  await queue?.close();
  connection?.disconnect();
  await services?.stop();
});

function backlogOf({ redisUrl, redisUrls }: Services): QueueBacklog {
  const environment = environmentFor(
    { databaseUrl: 'postgresql://none', redisUrl },
    { REDIS_QUEUE_URL: redisUrls.queue },
  );
  return new QueueBacklog(loadConfig(environment));
}

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

test('the oldest job is found in a long backlog by a bounded number of ids', async () => {
  const oldest = async () => (await backlog.standing('usage')).oldestAtMs;
  await queue.obliterate({ force: true });
  await queue.add('resting', {}, { timestamp: 1_000, delay: 900_000 });
  expect(await oldest()).toBe(1_000);
  const jobs = (delay: number, timestamp: number) =>
    Array.from({ length: 1_500 }, () => ({ name: 'x', data: {}, opts: { delay, timestamp } }));
  await queue.addBulk(jobs(600_000, 2_000));
  await queue.addBulk(jobs(0, 3_000));
  const read = jest.spyOn(Queue.prototype, 'getRanges');
  expect(await oldest()).toBe(1_000);
  const ids = (await read.mock.results.at(-1)?.value) as unknown[];
  expect(ids.length).toBeLessThanOrEqual(2_002);
  await (await queue.getDelayed(1_500, 1_500))[0]?.remove();
  expect(await oldest()).toBe(2_000);
  for (const { id } of await queue.getDelayed(0, 5_000)) await queue.remove(id ?? '');
  expect(await oldest()).toBe(3_000);
  read.mockRestore();
}, 60_000);

test('the first question on a new connection to a Redis Cluster is answered', async () => {
  const cluster = await startServices({ postgres: false, redis: 'cluster' });
  try {
    for (let opened = 0; opened < 20; opened += 1) {
      const fresh = backlogOf(cluster);
      expect(await fresh.undone('usage')).toEqual(new Set());
      fresh.onApplicationShutdown();
    }
  } finally {
    await cluster.stop();
  }
}, 60_000);
