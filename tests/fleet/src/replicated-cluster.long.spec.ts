import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { closeClient } from '@tollgate/audit';
import { letPass, startTollgate, type Tollgate, until } from '@tollgate/harness';
import { openRedis, redisReady, shardOf } from '@tollgate/keyspace';
import { syncOutcomes } from './fleet-view.ts';
import { closeBooks, setScene, SteadyLoad, type Scene } from './steady-load.ts';

/** Names the primaries of a Redis Cluster with a replica each: a primary dies, its replica takes over. */
const PRIMARIES = ['redis-1', 'redis-2', 'redis-3'];
/** Redis decides after 5 s that a primary is gone; the rest is election and the busy machine. */
const PROMOTION_MS = 60_000;
/** Every client of Redis has read the slots again by then, and dropped the primary that is gone. */
const AWAY_MS = 7_000;

let tollgate: Tollgate;
let scene: Scene;
/** Names primaries that owned the customer's shard when they died. */
const own: string[] = [];
beforeAll(async () => {
  tollgate = await startTollgate({
    nodes: 2,
    controlPlanes: 2,
    redis: 'replicated-cluster',
    env: { HOLD_LEASE_MS: '6000' },
  });
  scene = await setScene(tollgate);
}, 120_000);
afterAll(async () => {
  closeClient();
  await tollgate?.stop();
}, 30_000);

/** Returns what each server that answers says, by its name. */
async function askAll(command: string, ...args: string[]): Promise<Record<string, string>> {
  const answers: Record<string, string> = {};
  for (const { spec, isRunning } of tollgate.services.redisServers) {
    if (!isRunning) continue;
    const url = `redis://:${new URL(tollgate.redisUrl.replace(/,.*/, '')).password}@127.0.0.1:${tollgate.services.ports.get(spec.name)}`;
    const redis = openRedis(url, { role: 'plain', name: 'spec', onError: () => undefined });
    try {
      await redisReady(redis, 5_000);
      answers[spec.name] = String(
        await redis.call(command, ...args).catch((error: unknown) => error),
      );
    } finally {
      redis.disconnect();
    }
  }
  return answers;
}

async function roleOf(server: string): Promise<string | undefined> {
  return (await askAll('ROLE'))[server]?.split(',')[0];
}

/** Returns the server that owns the customer's shard: every other one refers to it. */
async function ownPrimary(): Promise<string> {
  const shard = shardOf(scene.customer.id, tollgate.shards);
  const answers = await askAll('EXISTS', `{${shard}}:epoch`);
  const owners = Object.keys(answers).filter((name) => answers[name] === '1');
  expect(owners).toHaveLength(1);
  return owners[0] ?? '';
}

test.each(PRIMARIES)(
  'when %s dies under load its replica is promoted, service comes back by itself, and the books close',
  async (primary) => {
    const replica = `redis-${PRIMARIES.indexOf(primary) + 4}`;
    const load = new SteadyLoad(tollgate.nodeUrls, scene, { clients: 4 });
    await until('a running load', () => load.count('completed') > 40);
    const isOwn = (await ownPrimary()) === primary;
    if (isOwn) own.push(primary);
    await tollgate.kill(primary);
    const killedAt = performance.now();
    await until(
      `${replica} to be primary`,
      async () => (await roleOf(replica)) === 'master',
      PROMOTION_MS,
    );
    const promotedMs = performance.now() - killedAt;
    const before = load.count('completed');
    await until('service', () => load.count('completed') > before + 40, PROMOTION_MS);
    expect(await syncOutcomes(tollgate)).toEqual({ 'node-1': 'applied', 'node-2': 'applied' });
    await letPass(AWAY_MS, 'a primary that stays away is dropped by the clients');
    await tollgate.restart(primary);
    await until(
      `${primary} to be a replica`,
      async () => (await roleOf(primary)) === 'slave',
      PROMOTION_MS,
    );
    const records = await load.stop();
    console.log(
      `${primary}${isOwn ? " (the customer's own)" : ''}: promoted after ${(promotedMs / 1_000).toFixed(1)} s; ${load.count('completed')} completed, ${load.count('refused')} refused`,
    );
    await closeBooks(tollgate, records, { wereKilled: true });
    for (const plane of ['control-plane', 'control-plane-2'])
      expect(tollgate.logs(plane)).not.toContain('a worker took no jobs');
    // Requests of the customer need its own primary and no other one.
    expect(load.count('refused') > 0).toBe(isOwn);
    if (isOwn) expect(await ownPrimary()).toBe(replica);
  },
  240_000,
);

test("one of the three was the primary of the customer's own shard", () => {
  expect(own).toHaveLength(1);
});
