import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { RelayedEvent } from '@tollgate/contracts';
import { startServices, type Services } from '@tollgate/harness';
import { primariesOf, redisReady } from '@tollgate/keyspace';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../../test/usage/downstream.ts';
import {
  addAccount,
  admit,
  finalOf,
  openMeteredRedis,
  usageOf,
  type MeteredRedis,
} from '../../test/usage/metered-redis.ts';
import { silent } from '../../test/usage/open-recorder.ts';
import { Relay } from './relay.ts';
import { openUsageQueue, type UsageQueue } from './usage-queue.ts';

const SHARDS = 64;
let services: Services;
let world: MeteredRedis;
let peers: string[];
let relays: Relay[];

beforeAll(async () => {
  services = await startServices({ postgres: false });
}, 60_000);
afterAll(() => services.stop());
beforeEach(async () => {
  world = await openMeteredRedis(services.redisUrl, SHARDS);
  peers = [];
  relays = [];
});
afterEach(async () => {
  await Promise.all(relays.map((relay) => relay.close()));
  await Promise.all(primariesOf(world.redis).map((primary) => primary.flushall()));
  world.close();
});

class Kept implements UsageQueue {
  readonly jobs: RelayedEvent[][] = [];
  isFailing = false;
  add({ events }: { events: RelayedEvent[] }): Promise<void> {
    if (this.isFailing) return Promise.reject(new Error('Redis is away'));
    this.jobs.push(events);
    return Promise.resolve();
  }
  close(): Promise<void> {
    return Promise.resolve();
  }
}

async function start(owner: string, queue: UsageQueue = new Kept()): Promise<Relay> {
  const relay = new Relay({
    outbox: world.store,
    queue,
    shards: SHARDS,
    owner,
    peers: () => Promise.resolve(peers),
    log: silent,
    now: Date.now,
    random: Math.random,
  });
  relays.push(relay);
  await relay.start();
  return relay;
}

async function leases(): Promise<Record<string, number>> {
  const owners = await Promise.all(
    Array.from({ length: SHARDS }, (_, index) =>
      world.redis.get(`{s${String(index).padStart(2, '0')}}:relay`),
    ),
  );
  return Object.fromEntries(
    Object.entries(Object.groupBy(owners, (owner) => owner ?? 'none')).map(([owner, list]) => [
      owner,
      list?.length ?? 0,
    ]),
  );
}

async function settle(accountId: number): Promise<string> {
  const hold = await admit(world, { accountId });
  const final = finalOf(hold, usageOf(1, 1));
  await world.store.settle({
    rid: hold.rid,
    epoch: hold.epoch,
    accountId,
    modelId: hold.modelId,
    chargeTokens: final.charge,
    payload: JSON.stringify(final),
    reEmit: false,
  });
  return hold.rid;
}

describe('Relay', () => {
  test('puts the events of many shards into one job', async () => {
    for (const account of [1, 2, 3]) await addAccount(world, account, 1_000_000);
    const rids = await Promise.all([1, 2, 3, 1, 2, 3].map(settle));
    const queue = new Kept();
    await start('node-1:0', queue);
    await eventually('all arrived', () => queue.jobs.flat().length === rids.length);
    expect(queue.jobs.length).toBe(1);
    expect(new Set(queue.jobs.flat().map((event) => event.shard))).toEqual(
      new Set(['s01', 's02', 's03']),
    );
  });

  test('gathers what trickles into many shards into a few jobs, none of it waiting for long', async () => {
    for (const account of [1, 2, 3]) await addAccount(world, account, 1_000_000);
    const queue = new Kept();
    const relay = await start('node-1:0', queue);
    await eventually('has leases', async () => (await leases())['node-1:0'] === SHARDS);
    let settled = 0;
    for (const until = Date.now() + 1_000; Date.now() < until; settled += 1) {
      const account = 1 + (settled % 3);
      await settle(account);
      relay.wake(account);
      await delay(10);
    }
    const lastAt = Date.now();
    await eventually('all arrived', () => queue.jobs.flat().length === settled);
    expect(Date.now() - lastAt).toBeLessThan(1_000);
    expect(settled).toBeGreaterThan(20);
    expect(queue.jobs.length).toBeLessThanOrEqual(9);
  }, 20_000);

  test('keeps events in the outbox until they are in the queue', async () => {
    for (const account of [1, 2, 3]) await addAccount(world, account, 1_000_000);
    const rids = await Promise.all([1, 2, 3, 1, 2, 3].map(settle));
    const queue = new Kept();
    queue.isFailing = true;
    await start('node-1:0', queue);
    await delay(300);
    expect(await world.redis.xlen('{s01}:outbox')).toBe(2);
    queue.isFailing = false;
    await eventually(
      'the outboxes are empty',
      async () =>
        (await world.redis.xlen('{s01}:outbox')) +
          (await world.redis.xlen('{s02}:outbox')) +
          (await world.redis.xlen('{s03}:outbox')) ===
        0,
    );
    expect(
      queue.jobs
        .flat()
        .map((event) => event.rid)
        .sort(),
    ).toEqual([...rids].sort());
  });

  test('shares the shards out when a node joins, and takes them back when it leaves', async () => {
    await start('node-1:0');
    await eventually('one node has all', async () => (await leases())['node-1:0'] === SHARDS);
    peers = ['node-1:0', 'node-2:0'];
    const second = await start('node-2:0');
    await eventually('each has half', async () => {
      const held = await leases();
      return held['node-1:0'] === SHARDS / 2 && held['node-2:0'] === SHARDS / 2;
    });
    peers = ['node-1:0'];
    relays = relays.filter((relay) => relay !== second);
    await second.close();
    await eventually(
      'the first has all again',
      async () => (await leases())['node-1:0'] === SHARDS,
    );
  }, 60_000);

  test('costs an idle fleet of two nodes less than 200 commands a second with 64 shards', async () => {
    const connection = world.connect('plain');
    await redisReady(connection, 5_000);
    const queue = openUsageQueue(connection, silent);
    peers = ['node-1:0', 'node-2:0'];
    await start('node-1:0', queue);
    await start('node-2:0', queue);
    await delay(5_000);
    const primaries = primariesOf(world.redis);
    await Promise.all(primaries.map((primary) => primary.config('RESETSTAT')));
    await delay(4_000);
    const stats = await Promise.all(primaries.map((primary) => primary.info('commandstats')));
    const calls = stats.reduce(
      (sum, each) => sum + Number(/cmdstat_fcall:calls=(\d+)/.exec(each)?.[1] ?? 0),
      0,
    );
    expect(calls / 4).toBeLessThan(200);
    expect(calls / 4).toBeGreaterThan(64);
    await queue.close();
  }, 30_000);
});
