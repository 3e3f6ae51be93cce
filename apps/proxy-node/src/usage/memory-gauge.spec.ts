import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import {
  memoryUse,
  openRedis,
  primariesOf,
  redisReady,
  type RedisConnection,
} from '@tollgate/keyspace';
import { silent } from '../../test/usage/open-recorder.ts';
import { MemoryGauge } from './memory-gauge.ts';

let services: Services;
let redis: RedisConnection;
beforeAll(async () => {
  services = await startServices({ postgres: false });
  redis = openRedis(services.redisUrl, { role: 'plain', name: 'spec', onError: () => undefined });
  await redisReady(redis, 5_000);
}, 30_000);
afterAll(async () => {
  redis?.disconnect();
  await services?.stop();
});

test('a Redis that is fuller than 85 % takes no new requests, until it is well below again', async () => {
  const gauge = new MemoryGauge({ memoryUse: () => memoryUse(redis), log: silent });
  const limit = (bytes: (used: number) => number): Promise<unknown> =>
    Promise.all(
      primariesOf(redis).map(async (primary) =>
        primary.config(
          'SET',
          'maxmemory',
          Math.round(bytes(Number(/^used_memory:(\d+)/m.exec(await primary.info('memory'))?.[1]))),
        ),
      ),
    );
  const isFullAt = async (share: number): Promise<boolean> => {
    await limit((used) => used / share);
    await gauge.look();
    return gauge.isFull;
  };
  expect(await isFullAt(0.83)).toBe(false);
  expect(await isFullAt(0.9)).toBe(true);
  expect(await isFullAt(0.83)).toBe(true);
  expect(await isFullAt(0.5)).toBe(false);
  await limit(() => 0);
  await gauge.look();
  expect(gauge.isFull).toBe(false);
  gauge.close();
});
