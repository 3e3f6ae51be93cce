import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServices, type Services, until, letPass } from '@tollgate/harness';
import type { Redis } from 'ioredis';
import {
  FunctionLanes,
  FunctionLibrary,
  isRedisReachable,
  isUnanswered,
  openRedis,
  redisReady,
} from '../src/index.ts';
import { pauseProcess, written } from './pause-process.ts';
import { readFunctionSource } from '../src/functions/function-source.ts';
import { keys } from '../src/keys.ts';

const KEY = keys.epoch('s00');
const READ_KEYS = [
  KEY,
  keys.key('s00', 'a'.repeat(64)),
  keys.account('s00', 1),
  keys.subscribedModels('s00', 1),
];
const GIVEN_UP_WITHIN_MS = 4_500;
/** Is longer than a server may be silent. */
const PAUSE_MS = 4_000;

let services: Services;
let redis: Redis;
let watcher: Redis;
let lanes: FunctionLanes;
let library: FunctionLibrary;

beforeAll(async () => {
  services = await startServices({ postgres: false, redis: 'single' });
  redis = await open('hot', 'lane-spec');
  watcher = await open('plain', 'watcher');
  lanes = new FunctionLanes(redis);
  library = new FunctionLibrary(redis, readFunctionSource(), lanes);
  await laneOpens();
}, 30_000);
afterAll(async () => {
  redis?.disconnect();
  watcher?.disconnect();
  await services?.stop();
});

async function open(role: 'hot' | 'plain', name: string): Promise<Redis> {
  const connection = openRedis(services.redisUrl, { role, name, onError: () => undefined });
  await redisReady(connection, 5_000);
  return connection as Redis;
}

async function laneOpens(): Promise<void> {
  await until('a lane', () => lanes.laneOf(KEY) !== null);
}

/** Returns the client of the lane's socket, as Redis has it; undefined while there is none. */
async function laneClient(): Promise<{ id: string; command: string } | undefined> {
  const line = String(await watcher.client('LIST'))
    .split('\n')
    .find((client) => client.includes('name=lane-spec:lane'));
  return line === undefined
    ? undefined
    : {
        id: /\bid=(\d+)/.exec(line)?.[1] ?? '',
        command: /\bcmd=(\S+)/.exec(line)?.[1] ?? '',
      };
}

const read = (): Promise<unknown> => library.call('access', READ_KEYS, ['none', 1, '', '']);

async function errorOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => {
      throw new Error('the call was answered');
    },
    (error: unknown) => error,
  );
}

test('calls take the lane, in order, and functions that are missing are loaded', async () => {
  await watcher.function('FLUSH');
  expect(await Promise.all([read(), read(), read()])).toEqual([['FENCED'], ['FENCED'], ['FENCED']]);
  expect(await laneClient()).toMatchObject({ command: 'fcall' });
});

test('an error that Redis answers with reaches the caller and breaks nothing', async () => {
  await watcher.hset(KEY, 'not', 'text');
  const error = await errorOf(read());
  await watcher.del(KEY);
  expect(error).toMatchObject({ name: 'ReplyError', message: expect.stringMatching(/WRONGTYPE/) });
  expect(isUnanswered(error)).toBe(false);
  expect(await read()).toEqual(['FENCED']);
  expect(lanes.laneOf(KEY)).not.toBeNull();
});

test('what was sent on a lane that breaks is unanswered and never sent again; the next call takes the other way', async () => {
  const { id } = (await laneClient()) ?? { id: '' };
  // The server holds the call back, so that it is in flight when its socket breaks.
  await watcher.client('PAUSE', 1_000, 'ALL');
  const calls = Promise.all([errorOf(read()), errorOf(read())]);
  await letPass(20, 'both calls reach the socket; the paused server cannot be asked');
  (redis as unknown as { emit: (name: string) => void }).emit('close');
  for (const error of await calls) expect(isUnanswered(error)).toBe(true);
  expect(lanes.laneOf(KEY)).toBeNull();
  expect(await read()).toEqual(['FENCED']);
  await laneOpens();
  expect((await laneClient())?.id).not.toBe(id);
});

test('a lane that its server cuts opens again', async () => {
  const { id } = (await laneClient()) ?? { id: '' };
  await watcher.client('KILL', 'ID', id);
  await until('the end of the lane', () => lanes.laneOf(KEY) === null);
  expect(await read()).toEqual(['FENCED']);
  await laneOpens();
  expect(await read()).toEqual(['FENCED']);
});

test('a pause of this process is no silence of the server: the lane stays, and what came meanwhile is read', async () => {
  const { id } = (await laneClient()) ?? { id: '' };
  const call = read();
  await written();
  pauseProcess(PAUSE_MS);
  expect(await call).toEqual(['FENCED']);
  expect(isRedisReachable(redis)).toBe(true);
  expect((await laneClient())?.id).toBe(id);
});

test('a server that owes an answer and is silent is given up, and refuses from then on', async () => {
  await services.redis.kill('SIGSTOP');
  const askedAt = performance.now();
  expect(isUnanswered(await errorOf(read()))).toBe(true);
  expect(performance.now() - askedAt).toBeLessThan(GIVEN_UP_WITHIN_MS);
  await until('a Redis given up', () => !isRedisReachable(redis));
  expect(isUnanswered(await errorOf(read()))).toBe(true);
  expect(performance.now() - askedAt).toBeLessThan(GIVEN_UP_WITHIN_MS + 500);
  await services.redis.kill('SIGCONT');
  await redisReady(redis, 15_000);
  await laneOpens();
  expect(await read()).toEqual(['FENCED']);
}, 40_000);
