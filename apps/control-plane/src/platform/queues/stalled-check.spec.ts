import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import { BULL_PREFIX, openRedis, redisReady, type RedisConnection } from '@tollgate/keyspace';
import { Worker } from 'bullmq';
import { freeStalledCheck } from './stalled-check.ts';

let services: Services;
let connection: RedisConnection;
let worker: Worker;

beforeAll(async () => {
  services = await startServices({ postgres: false });
  connection = openRedis(services.redisUrls.queue, {
    role: 'queue_worker',
    name: 'spec',
    onError: () => undefined,
  });
  await redisReady(connection, 5_000);
  worker = new Worker('usage', null, { connection, prefix: BULL_PREFIX, autorun: false });
}, 30_000);
afterAll(async () => {
  await worker?.close();
  connection?.disconnect();
  await services?.stop();
});

test('the check for stalled jobs is not put off by a clock of Redis that was ahead and has been set right, and is left alone otherwise', async () => {
  const key = worker.toKey('stalled-check');
  const order = { connection, intervalMs: 5_000 };
  expect(await freeStalledCheck(worker, order)).toBe(false);
  await connection.set(key, '1', 'PX', 4_900);
  expect(await freeStalledCheck(worker, order)).toBe(false);
  await connection.set(key, '1', 'PX', 86_400_000);
  expect(await freeStalledCheck(worker, order)).toBe(true);
  expect(await connection.exists(key)).toBe(0);
});
