import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import { openRedis, redisReady, type RedisConnection } from '../src/index.ts';

const GIVEN_UP_WITHIN_MS = 4_500;

let services: Services;
let redis: RedisConnection;
beforeAll(async () => {
  services = await startServices({ postgres: false, redis: 'single' });
  redis = openRedis(services.redisUrl, { role: 'hot', name: 'spec', onError: () => undefined });
  await redisReady(redis, 5_000);
}, 30_000);
afterAll(async () => {
  redis?.disconnect();
  await services?.stop();
});

test('a Redis that says nothing while the line stays open is given up before a command times out, and asked no more until it speaks', async () => {
  await services.redis.kill('SIGSTOP');
  const askedAt = performance.now();
  await expect(redis.get('a')).rejects.toThrow();
  expect(performance.now() - askedAt).toBeLessThan(GIVEN_UP_WITHIN_MS);
  const againAt = performance.now();
  await expect(redis.get('a')).rejects.toThrow();
  expect(performance.now() - againAt).toBeLessThan(500);
  await services.redis.kill('SIGCONT');
  await redisReady(redis, 15_000);
  expect(await redis.get('a')).toBeNull();
}, 40_000);
