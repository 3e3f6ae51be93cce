import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import { isUnanswered, openRedis, redisReady, type RedisConnection } from '../src/index.ts';
import { pauseProcess, written } from './pause-process.ts';

const GIVEN_UP_WITHIN_MS = 4_500;
/** Is longer than a server may be silent, and shorter than a command may take. */
const PAUSE_MS = 4_000;

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
  expect(isUnanswered(await errorOf(redis.get('a')))).toBe(true);
  expect(performance.now() - askedAt).toBeLessThan(GIVEN_UP_WITHIN_MS);
  const againAt = performance.now();
  expect(isUnanswered(await errorOf(redis.get('a')))).toBe(true);
  expect(performance.now() - againAt).toBeLessThan(500);
  await services.redis.kill('SIGCONT');
  await redisReady(redis, 15_000);
  expect(await redis.get('a')).toBeNull();
}, 40_000);

test('a pause of this process is no silence of the server: what came meanwhile is read', async () => {
  let breaks = 0;
  redis.on('close', () => (breaks += 1));
  const call = redis.get('a');
  await written();
  pauseProcess(PAUSE_MS);
  expect(await call).toBeNull();
  expect(breaks).toBe(0);
});

test('no error that Redis answers with is taken for silence', async () => {
  await redis.set('text', 'a');
  expect(await errorOf(redis.hget('text', 'field'))).toMatchObject({ name: 'ReplyError' });
  expect(isUnanswered(await errorOf(redis.hget('text', 'field')))).toBe(false);
  expect(isUnanswered(await errorOf(redis.fcall('missing', 0)))).toBe(false);
});

async function errorOf(call: Promise<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return error;
  }
  throw new Error('the call was answered');
}
