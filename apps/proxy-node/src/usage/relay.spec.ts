import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { RelayedEvent } from '@tollgate/contracts';
import { startServices, type Services } from '@tollgate/harness';
import { primariesOf, redisReady } from '@tollgate/keyspace';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  addAccount,
  admit,
  finalOf,
  openMeteredRedis,
  usageOf,
  type MeteredRedis,
} from '../../test/usage/metered-redis.ts';
import { silent } from '../../test/usage/open-recorder.ts';
import { ManualTime } from '../testing/manual-time.ts';
import { Relay } from './relay.ts';
import type { OutboxPort } from './relay-options.ts';
import { openUsageQueue, type UsageQueue } from './usage-queue.ts';

const SHARDS = 64;
let services: Services;
let world: MeteredRedis;
let peers: string[];
let relays: Relay[];
let time: ManualTime;
/** Counts the calls to Redis that run. */
const calls = { open: 0 };

beforeAll(async () => {
  services = await startServices({ postgres: false });
}, 60_000);
afterAll(() => services.stop());
beforeEach(async () => {
  world = await openMeteredRedis(services.redisUrl, SHARDS);
  peers = [];
  relays = [];
  calls.open = 0;
  time = new ManualTime(1_000_000, async () => {
    do await nextTurn();
    while (calls.open > 0);
  });
});
afterEach(async () => {
  await Promise.all(relays.map((relay) => relay.close()));
  // The library goes too: its functions remember the balances of the test before.
  for (const primary of primariesOf(world.redis)) {
    await primary.flushall();
    await primary.function('FLUSH');
  }
  world.close();
});

/** Makes the store of a relay, whose time is paused while Redis is asked. */
function outbox(): OutboxPort {
  const { store } = world;
  const asked = async <Reply>(call: Promise<Reply>): Promise<Reply> => {
    calls.open += 1;
    return call.finally(() => (calls.open -= 1));
  };
  return {
    relay: (...request) => asked(store.relay(...request)),
    releaseRelay: (...request) => asked(store.releaseRelay(...request)),
    reap: (...request) => asked(store.reap(...request)),
    shardOf: (accountId) => store.shardOf(accountId),
  };
}

class Kept implements UsageQueue {
  readonly jobs: RelayedEvent[][] = [];
  isFailing = false;
  refused = 0;
  add({ events }: { events: RelayedEvent[] }): Promise<void> {
    if (this.isFailing) {
      this.refused += 1;
      return Promise.reject(new Error('Redis is away'));
    }
    this.jobs.push(events);
    return Promise.resolve();
  }
  close(): Promise<void> {
    return Promise.resolve();
  }
}

async function start(owner: string, queue: UsageQueue = new Kept()): Promise<Relay> {
  const relay = new Relay({
    outbox: outbox(),
    queue,
    shards: SHARDS,
    owner,
    peers: () => Promise.resolve(peers),
    log: silent,
    now: time.now,
    timers: time.timers,
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

function waitingIn(...shards: string[]): Promise<number[]> {
  return Promise.all(shards.map((shard) => world.redis.xlen(`{${shard}}:outbox`)));
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
    await time.pass(200);
    expect(queue.jobs.map((events) => events.length)).toEqual([rids.length]);
    expect(new Set(queue.jobs.flat().map((event) => event.shard))).toEqual(
      new Set(['s01', 's02', 's03']),
    );
  });

  test('gathers what trickles into many shards into a few jobs, none of it waiting for long', async () => {
    for (const account of [1, 2, 3]) await addAccount(world, account, 1_000_000);
    const queue = new Kept();
    const relay = await start('node-1:0', queue);
    await time.pass(200);
    expect(await leases()).toEqual({ 'node-1:0': SHARDS });
    for (let settled = 0; settled < 100; settled += 1) {
      const account = 1 + (settled % 3);
      await settle(account);
      relay.wake(account);
      await time.pass(10);
    }
    await time.pass(200);
    expect(queue.jobs.flat()).toHaveLength(100);
    expect(queue.jobs.length).toBeLessThanOrEqual(6);
  });

  test('keeps events in the outbox until they are in the queue', async () => {
    for (const account of [1, 2, 3]) await addAccount(world, account, 1_000_000);
    const rids = await Promise.all([1, 2, 3, 1, 2, 3].map(settle));
    const queue = new Kept();
    queue.isFailing = true;
    await start('node-1:0', queue);
    await time.pass(5_000);
    expect(queue.refused).toBeGreaterThan(1);
    expect(await waitingIn('s01', 's02', 's03')).toEqual([2, 2, 2]);
    queue.isFailing = false;
    await time.pass(5_000);
    expect(await waitingIn('s01', 's02', 's03')).toEqual([0, 0, 0]);
    expect(queue.jobs.flat().map((event) => event.rid)).toEqual(expect.arrayContaining(rids));
    expect(queue.jobs.flat()).toHaveLength(rids.length);
  });

  test('shares the shards out when a node joins, and takes them back when it leaves', async () => {
    await start('node-1:0');
    await time.pass(200);
    expect(await leases()).toEqual({ 'node-1:0': SHARDS });
    peers = ['node-1:0', 'node-2:0'];
    const second = await start('node-2:0');
    await time.pass(10_000);
    expect(await leases()).toEqual({ 'node-1:0': SHARDS / 2, 'node-2:0': SHARDS / 2 });
    peers = ['node-1:0'];
    relays = relays.filter((relay) => relay !== second);
    await second.close();
    await time.pass(10_000);
    expect(await leases()).toEqual({ 'node-1:0': SHARDS });
  });

  test('costs an idle fleet of two nodes less than 200 commands a second with 64 shards', async () => {
    const connection = world.connect('plain');
    await redisReady(connection, 5_000);
    const queue = openUsageQueue(connection, silent);
    peers = ['node-1:0', 'node-2:0'];
    await start('node-1:0', queue);
    await start('node-2:0', queue);
    await time.pass(5_000);
    const primaries = primariesOf(world.redis);
    await Promise.all(primaries.map((primary) => primary.config('RESETSTAT')));
    await time.pass(4_000);
    const stats = await Promise.all(primaries.map((primary) => primary.info('commandstats')));
    const calls = stats.reduce(
      (sum, each) => sum + Number(/cmdstat_fcall:calls=(\d+)/.exec(each)?.[1] ?? 0),
      0,
    );
    expect(calls / 4).toBeLessThan(200);
    expect(calls / 4).toBeGreaterThan(64);
    await queue.close();
  });
});
