import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { closeClient } from '@tollgate/audit';
import { startTollgate, type Tollgate, until } from '@tollgate/harness';
import { keysLike, openRedis, redisReady } from '@tollgate/keyspace';
import { chatStatus, syncOutcomes } from './fleet-view.ts';
import { closeBooks, setScene, SteadyLoad, type Scene } from './steady-load.ts';
import { syncStorm } from './sync-storm.ts';

/** Two nodes and two replicas of the control plane run; the tests show what goes on when parts of it are gone. */
let tollgate: Tollgate;
let scene: Scene;

beforeAll(async () => {
  tollgate = await startTollgate({ nodes: 2, controlPlanes: 2, env: { HOLD_LEASE_MS: '6000' } });
  scene = await setScene(tollgate);
}, 90_000);
afterAll(async () => {
  closeClient();
  await tollgate?.stop();
}, 30_000);

const BOTH_APPLIED = { 'node-1': 'applied', 'node-2': 'applied' };

/** Leaves Redis in the state after a flush of the fleet's own slot. */
async function loseFleetKeys(): Promise<void> {
  const redis = openRedis(tollgate.redisUrl, {
    role: 'plain',
    name: 'spec',
    onError: () => undefined,
  });
  try {
    await redisReady(redis, 5_000);
    const keys = await keysLike(redis, '{fleet}:snapshot:*');
    expect(keys.length).toBeGreaterThan(1);
    await redis.del(...keys);
  } finally {
    redis.disconnect();
  }
}

test('a frozen user is refused by every node on the very next request, and served again once unfrozen', async () => {
  await tollgate.admin.call('POST', `/users/${scene.customer.id}/freeze`);
  for (const origin of tollgate.nodeUrls) expect(await chatStatus(origin, scene)).toBe(403);
  await tollgate.admin.call('POST', `/users/${scene.customer.id}/unfreeze`);
  for (const origin of tollgate.nodeUrls) expect(await chatStatus(origin, scene)).toBe(200);
});

describe('administrators who sync while nodes restart at random', () => {
  test('get only true answers: a node called applied at a version serves it', async () => {
    const report = await syncStorm(tollgate, { administrators: 6, rounds: 2, seed: 7 });
    expect(report.lies).toEqual([]);
    expect(report).toMatchObject({ answers: 12 });
    expect(report.applied).toBeGreaterThan(0);
    expect(report.restarts).toBeGreaterThan(0);
    expect(await syncOutcomes(tollgate)).toEqual(BOTH_APPLIED);
  }, 120_000);
});

describe('with two replicas of the control plane', () => {
  test('usage is shared out and booked once, also when one is killed while it books', async () => {
    const load = new SteadyLoad(tollgate.nodeUrls, scene, { seed: 2 });
    await until('a running load', () => load.count('completed') > 40);
    await tollgate.kill('control-plane-2');
    const killed = load.count('completed');
    await until('a running load', () => load.count('completed') > killed + 40);
    await tollgate.restart('control-plane-2');
    const records = await load.stop();
    expect(records.filter(({ ending }) => ending === 'refused' || ending === 'unreached')).toEqual(
      [],
    );
    // No node died here: not even the last moments of an answer may be missing.
    await closeBooks(tollgate, records, { wereKilled: false });
  }, 90_000);
});

describe('with the control planes and PostgreSQL gone', () => {
  test('nodes serve on, one even starts from its disk; after their return the books close over everything', async () => {
    const load = new SteadyLoad(tollgate.nodeUrls, scene, { seed: 3, clients: 4 });
    await until('a running load', () => load.count('completed') > 20);
    await Promise.all(
      ['control-plane', 'control-plane-2', 'postgres'].map((name) => tollgate.kill(name)),
    );
    const alone = load.count('completed');
    await until('requests without a control plane', () => load.count('completed') > alone + 60);
    expect(load.count('refused')).toBe(0);
    await loseFleetKeys();
    await tollgate.kill('node-2');
    // Resolves when it serves.
    await tollgate.restart('node-2');
    expect(await chatStatus(tollgate.nodeUrls[1] ?? '', scene)).toBe(200);
    const restarted = load.count('completed');
    await until('requests at the restarted node', () => load.count('completed') > restarted + 60);
    await tollgate.restart('postgres');
    await Promise.all(['control-plane', 'control-plane-2'].map((name) => tollgate.restart(name)));
    await closeBooks(tollgate, await load.stop(), { wereKilled: true });
    expect(await syncOutcomes(tollgate)).toEqual(BOTH_APPLIED);
  }, 120_000);
});
