import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { startServices, type Services, until } from '@tollgate/harness';
import type { ManagedProcess } from '@tollgate/tools';
import { Cluster, type Redis } from 'ioredis';
import { readFunctionSource } from '../src/functions/function-source.ts';
import {
  ClusterState,
  FunctionLanes,
  FunctionLibrary,
  isRedisReachable,
  isUnanswered,
  onRedisReturn,
  openRedis,
  redisReady,
  shardNames,
} from '../src/index.ts';
import { keys } from '../src/keys.ts';

/** Three primaries run, each of which can be away while the others are not. */
let services: Services;
let first: ManagedProcess;
let cluster: Cluster;

beforeAll(async () => {
  services = await startServices({ postgres: false, redis: 'cluster' });
  first = services.redisServers[0] as ManagedProcess;
}, 60_000);
afterAll(() => services?.stop());

beforeEach(async () => {
  const opened = openRedis(services.redisUrl, {
    role: 'hot',
    name: 'cluster-spec',
    onError: () => undefined,
  });
  await redisReady(opened, 10_000);
  if (!(opened instanceof Cluster)) throw new Error('not a cluster');
  cluster = opened;
  // Processes at work are connected to all of them. A primary that was just started refuses for two seconds.
  await until('every shard answers', () =>
    Promise.all(shardNames(SHARDS).map((shard) => cluster.get(keys.epoch(shard)))).catch(
      () => false,
    ),
  );
}, 30_000);
afterEach(async () => {
  cluster.disconnect();
  for (const server of services.redisServers) {
    if (!server.isRunning) await server.start();
    await server.kill('SIGCONT');
  }
});

const SHARDS = 4;
/** One repetition takes so long, and a look at the slots on the way, where a command would have waited five seconds. */
const SOON_MS = 3_000;
/** Belongs to the first primary; the other key belongs to another. */
const HERE = keys.epoch('s02');
const ELSEWHERE = keys.epoch('s00');

function firstPrimary(): Redis {
  const port = services.ports.get('redis-1');
  const found = cluster.nodes('master').find(({ options }) => options.port === port);
  if (!found) throw new Error('the first primary is not known');
  return found;
}

/** Returns milliseconds. */
async function timed(work: Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work;
  return performance.now() - startedMs;
}

async function errorOf(call: Promise<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return error;
  }
  throw new Error('the call was answered');
}

test.each(['SIGKILL', 'SIGSTOP'] as const)(
  'while one primary is away (%s) its keys are refused soon, again and again, and all others are served',
  async (signal) => {
    await first.kill(signal);
    // The first to ask a silent one finds out.
    expect(isUnanswered(await errorOf(cluster.get(HERE)))).toBe(true);
    for (let round = 0; round < 3; round += 1) {
      const refused = errorOf(cluster.get(HERE));
      expect(await timed(refused)).toBeLessThan(SOON_MS);
      expect(isUnanswered(await refused)).toBe(true);
      expect(await cluster.get(ELSEWHERE)).toBeNull();
    }
    expect(isRedisReachable(cluster)).toBe(true);
  },
  30_000,
);

test('a primary that comes back is connected to without a command, and its return is reported', async () => {
  const returns: number[] = [];
  const stop = onRedisReturn(cluster, (awayMs) => {
    if (awayMs !== undefined) returns.push(awayMs);
  });
  await first.kill('SIGKILL');
  await until('a lost primary', () => firstPrimary().status !== 'ready');
  await first.start();
  await until('a return', () => returns.length > 0);
  stop();
});

test('a cluster that is away altogether is not reachable, and is again when it returns', async () => {
  await services.redis.kill('SIGKILL');
  expect(isUnanswered(await errorOf(cluster.get(HERE)))).toBe(true);
  await until('a Cluster given up', () => !isRedisReachable(cluster));
  await services.redis.start();
  await until('a Cluster that answers', () => isRedisReachable(cluster));
}, 30_000);

test('a Cluster that is reachable and refuses everything does not serve: for want of a majority, and for a while after its start', async () => {
  const state = new ClusterState(cluster);
  const served = () => Promise.any(['s00', 's01', 's02'].map((s) => cluster.get(keys.epoch(s))));
  const isUsable = () => isRedisReachable(cluster) && state.isServing;
  const others = services.redisServers.slice(1);
  try {
    await until('a Cluster that serves', isUsable);
    await Promise.all(others.map((server) => server.kill('SIGKILL')));
    await until('a primary that is alone', () => !state.isServing);
    expect(isRedisReachable(cluster)).toBe(true);
    await expect(cluster.get(HERE)).rejects.toThrow('CLUSTERDOWN');
    await Promise.all(others.map((server) => server.start()));
    await until('a Cluster that serves', isUsable);
    expect(await served()).toBeNull();
    await services.redis.stop();
    await until('a Cluster given up', () => !isUsable());
    await services.redis.start();
    await until('a Cluster that serves', isUsable);
    expect(await served()).toBeNull();
  } finally {
    state.end();
  }
}, 60_000);

test('a Cluster whose state may not be asked for is taken for serving', async () => {
  const permit = (rule: string) =>
    Promise.all(cluster.nodes('master').map((primary) => primary.acl('SETUSER', 'default', rule)));
  await permit('-cluster|info');
  const state = new ClusterState(cluster);
  try {
    await until('a Cluster that serves', () => state.isServing);
  } finally {
    state.end();
    await permit('+cluster|info');
  }
});

test('calls that wait are answered and channels are heard again when a cluster returns that was away altogether', async () => {
  const open = (role: 'blocking' | 'subscriber') => {
    const { redisUrl: url } = services;
    return openRedis(url, { role, name: 'cluster-spec', onError: () => undefined });
  };
  const [blocking, subscriber] = [open('blocking'), open('subscriber')];
  let heard = 0;
  subscriber.on('message', () => (heard += 1));
  await subscriber.subscribe('channel');
  const publish = () => cluster.publish('channel', 'x').catch(() => 0);
  try {
    await until('a message', async () => (await publish()) > 0 && heard > 0);
    await services.redis.kill('SIGKILL');
    const call = blocking.get(HERE);
    await until('a Cluster given up', () => !isRedisReachable(cluster));
    heard = 0;
    await services.redis.start();
    expect(await call).toBeNull();
    await until('a message', async () => (await publish()) > 0 && heard > 0);
  } finally {
    blocking.disconnect();
    subscriber.disconnect();
  }
}, 60_000);

test('functions that were lost come back on the primary of the keys, also while another does not answer', async () => {
  const library = new FunctionLibrary(cluster, readFunctionSource(), new FunctionLanes(cluster));
  const read = (shard: string): Promise<unknown> =>
    library.call(
      'access',
      [
        keys.epoch(shard),
        keys.key(shard, 'a'.repeat(64)),
        keys.account(shard, 1),
        keys.subscribedModels(shard, 1),
      ],
      ['e', 1, '', ''],
    );
  await Promise.all(cluster.nodes('master').map((primary) => primary.function('FLUSH')));
  await first.kill('SIGSTOP');
  expect(await timed(read('s00'))).toBeLessThan(2_000);
  await first.kill('SIGCONT');
  await read('s02');
});
