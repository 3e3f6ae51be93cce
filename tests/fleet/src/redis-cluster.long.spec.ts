import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { closeClient } from '@tollgate/audit';
import {
  createCustomer,
  startTollgate,
  subscribeWithKey,
  type Tollgate,
  until,
} from '@tollgate/harness';
import { openRedis, redisReady } from '@tollgate/keyspace';
import { chatStatus, syncOutcomes } from './fleet-view.ts';
import { closeBooks, setScene, SteadyLoad, type Scene } from './steady-load.ts';

/** Everything runs over a Redis Cluster of three primaries: accounts' shards, the fleet, the queue and the acknowledgements live on different servers. */
let tollgate: Tollgate;
let scene: Scene;

beforeAll(async () => {
  tollgate = await startTollgate({ nodes: 2, redis: 'cluster', env: { HOLD_LEASE_MS: '6000' } });
  scene = await setScene(tollgate);
}, 90_000);
afterAll(async () => {
  closeClient();
  await tollgate?.stop();
}, 30_000);

test('a change reaches every node, and sync-all proves it', async () => {
  expect(await syncOutcomes(tollgate)).toEqual({ 'node-1': 'applied', 'node-2': 'applied' });
  for (const origin of tollgate.nodeUrls) expect(await chatStatus(origin, scene)).toBe(200);
});

test('a disabled key is refused by every node on its very next request', async () => {
  const { id, key } = await scene.customer.client.createKey({
    name: 'short-lived',
    allowed_models: '*',
    rpm: 0,
    rph: 0,
    rpd: 0,
  });
  for (const origin of tollgate.nodeUrls)
    expect(await chatStatus(origin, { ...scene, key })).toBe(200);
  await scene.customer.client.call('POST', `/keys/${id}/disable`);
  for (const origin of tollgate.nodeUrls)
    expect(await chatStatus(origin, { ...scene, key })).toBe(401);
});

test('the books close under load, also when the functions are lost and a node is killed on the way', async () => {
  const load = new SteadyLoad(tollgate.nodeUrls, scene);
  await until('a running load', () => load.count('completed') > 40);
  const redis = openRedis(tollgate.redisUrl, {
    role: 'plain',
    name: 'spec',
    onError: () => undefined,
  });
  try {
    await redisReady(redis, 5_000);
    if (!('nodes' in redis)) throw new Error('not a cluster');
    await Promise.all(redis.nodes('master').map((primary) => primary.call('FUNCTION', 'FLUSH')));
  } finally {
    redis.disconnect();
  }
  const flushed = load.count('completed');
  await until('a running load', () => load.count('completed') > flushed + 40);
  expect(load.count('refused')).toBe(0);
  await tollgate.kill('node-2');
  await tollgate.restart('node-2');
  await closeBooks(tollgate, await load.stop(), { wereKilled: true });
}, 120_000);

test('while one primary is away its accounts are refused, all others are served, and it serves again by itself', async () => {
  const { nodeUrls } = tollgate;
  const elsewhere = await sceneElsewhere(scene);
  await tollgate.kill(HOME[scene.customer.id % tollgate.shards] ?? '');
  for (const origin of nodeUrls) {
    expect(await chatStatus(origin, scene)).toBe(503);
    expect(await chatStatus(origin, elsewhere)).toBe(200);
  }
  await tollgate.restart(HOME[scene.customer.id % tollgate.shards] ?? '');
  for (const origin of nodeUrls)
    await until('service for its accounts', async () => (await chatStatus(origin, scene)) === 200);
  await closeBooks(tollgate, [], { wereKilled: true });
}, 90_000);

/** Names the primary that holds each of the four shards: their slots are a matter of arithmetic. */
const HOME = ['redis-3', 'redis-2', 'redis-1', 'redis-1'];

/** Makes a scene whose customer lives on another primary. */
async function sceneElsewhere({ customer, model }: Scene): Promise<Scene> {
  for (;;) {
    const other = await createCustomer(tollgate);
    if (HOME[other.id % tollgate.shards] !== HOME[customer.id % tollgate.shards])
      return {
        customer: other,
        model,
        key: await subscribeWithKey(other, { modelIds: [model.id] }),
      };
  }
}
