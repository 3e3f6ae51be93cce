import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import {
  createControlPlaneMac,
  FORMATS,
  type Acknowledgement,
  type FleetMessage,
  type NodeDump,
  type NodeReport,
} from '@tollgate/contracts';
import { startServices, type Services } from '@tollgate/harness';
import { publishSnapshot, sealSnapshot } from '@tollgate/snapshot';
import {
  Acknowledgements,
  EpochCache,
  Epochs,
  FleetStore,
  FunctionLibrary,
  openRedis,
  primariesOf,
  redisReady,
  type ConnectionRole,
  type RedisConnection,
} from '../src/index.ts';
import { keys } from '../src/keys.ts';
import { openAccount, openWorld, SHARDS } from './world.ts';

const mac = createControlPlaneMac({ current: 'k'.repeat(43) });
let services: Services;
let redis: RedisConnection;
const opened: RedisConnection[] = [];

beforeAll(async () => {
  services = await startServices({ postgres: false });
  redis = await open('plain');
});
afterAll(async () => {
  for (const connection of opened) connection.disconnect();
  await services?.stop();
});
afterEach(async () => {
  await Promise.all(primariesOf(redis).map((primary) => primary.flushall()));
});

async function open(role: ConnectionRole): Promise<RedisConnection> {
  const connection = openRedis(services.redisUrl, { role, name: 'stores-spec', onError: () => {} });
  opened.push(connection);
  await redisReady(connection, 5_000);
  return connection;
}

/** Over all servers. */
async function sumOf(section: string, name: string): Promise<number> {
  const infos = await Promise.all(primariesOf(redis).map((primary) => primary.info(section)));
  return infos.reduce(
    (sum, info) => sum + Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]),
    0,
  );
}

async function blockedClients(): Promise<number> {
  return sumOf('clients', 'blocked_clients');
}

const report = (changes: Partial<NodeReport> = {}): NodeReport => ({
  ...{
    name: 'node-1',
    worker: 0,
    instance: randomUUID(),
    url: null,
    state: 'online',
    version: 3,
    checksum: 'c',
    applied_at: 1,
    refused: null,
  },
  ...{
    started_at: 1,
    reported_at: 1_000,
    in_flight: 0,
    unacknowledged: 0,
    software: '0.1.0',
    proof: 'p',
  },
  ...changes,
});

describe('the fleet store', () => {
  const newStore = (): FleetStore => new FleetStore({ redis, library: new FunctionLibrary(redis) });

  test('publishes a snapshot that nodes can fetch and verify', async () => {
    const store = newStore();
    expect(await store.currentVersion()).toBeNull();
    const snapshot = publishSnapshot({
      version: 4,
      publishedAtMs: 5,
      document: { format: 1, models: [], upstreams: [], routes: [] },
    });
    const seal = sealSnapshot(mac, {
      installation: randomUUID(),
      lineage: 1,
      version: 4,
      checksum: snapshot.checksum,
    });
    await store.publish(snapshot, seal);
    expect(await store.currentVersion()).toBe(4);
    expect(await store.fetchSeal(4)).toEqual(seal);
    expect(await store.fetchSeal(3)).toBeNull();
    expect(await store.fetchSnapshot(4)).toEqual({ kind: 'ok', snapshot });
    expect(await store.fetchSnapshot(3)).toBeNull();
    await redis.set(keys.snapshot(4), JSON.stringify({ ...snapshot, checksum: 'f'.repeat(64) }));
    expect(await store.fetchSnapshot(4)).toMatchObject({
      kind: 'refused',
      reason: 'checksum_mismatch',
    });
    await redis.set(keys.snapshot(4), 'torn {');
    expect(await store.fetchSnapshot(4)).toMatchObject({ kind: 'refused' });
  });

  test('passes announcements to its listeners, also after their connection broke, and drops what it cannot read', async () => {
    const store = newStore();
    const subscriber = await open('subscriber');
    const heard: FleetMessage[] = [];
    let hear = (): void => {};
    await store.subscribe(subscriber, (message) => {
      heard.push(message);
      hear();
    });
    const until = (count: number): Promise<void> =>
      new Promise((resolve) => {
        hear = () => heard.length >= count && resolve();
        hear();
      });
    await redis.publish(keys.fleetChannel, 'no json');
    await redis.publish(keys.fleetChannel, '{"kind":"of a later release"}');
    await store.announce({ kind: 'reload', node: null });
    await until(1);
    await Promise.all(
      primariesOf(redis).map((primary) => primary.call('CLIENT', 'KILL', 'TYPE', 'pubsub')),
    );
    // What is said before it listens again is lost.
    for (; heard.length < 2; await delay(20))
      await store.announce({ kind: 'desired', node: 'node-1' });
    expect(heard.slice(0, 2)).toEqual([
      { kind: 'reload', node: null },
      { kind: 'desired', node: 'node-1' },
    ]);
  });

  test('lists the reports of every worker but those that are too old or cannot be read; only the control plane removes them', async () => {
    const store = newStore();
    await store.writeReport(report());
    await store.writeReport(report({ worker: 1, reported_at: 5_000 }));
    await store.writeReport(report({ name: 'node-2', reported_at: 5_000 }));
    await redis.hset(keys.nodes, 'node-3:0', 'torn');
    const names = async (ageMaxMs: number): Promise<string[]> =>
      (await store.listReports({ nowMs: 6_000, ageMaxMs }))
        .map(({ name, worker }) => `${name}:${worker}`)
        .toSorted();
    expect(await names(5_000)).toEqual(['node-1:0', 'node-1:1', 'node-2:0']);
    expect(await names(4_999)).toEqual(['node-1:1', 'node-2:0']);
    expect(await redis.hlen(keys.nodes)).toBe(4);
    expect((await store.pruneReports({ nowMs: 6_000, ageMaxMs: 4_999 })).length).toBe(2);
    expect(await redis.hlen(keys.nodes)).toBe(2);
    await store.removeReports('node-1');
    expect(await names(5_000)).toEqual(['node-2:0']);
  });

  test('a report of a later format stays for a control plane that reads it, whatever one of this release removes', async () => {
    const store = newStore();
    const later = JSON.stringify({ ...report(), format: FORMATS.report + 1, load: 7 });
    await redis.hset(keys.nodes, 'node-4:0', later);
    expect(await store.pruneReports({ nowMs: 6_000, ageMaxMs: 5_000 })).toEqual([]);
    expect(await redis.hget(keys.nodes, 'node-4:0')).toBe(later);
  });

  test('keeps the desired state of a node, and has none for an undecided node', async () => {
    const store = newStore();
    expect(await store.getDesired('node-1')).toBeNull();
    await store.setDesired('node-1', { state: 'stopped' });
    expect(await store.getDesired('node-1')).toEqual({ state: 'stopped' });
    await store.removeDesired('node-1');
    expect(await store.getDesired('node-1')).toBeNull();
  });

  test('collects the answers of workers to a question', async () => {
    const store = newStore();
    const requestId = randomUUID();
    const dump = (name: string, worker: number): NodeDump => ({
      request_id: requestId,
      name,
      worker,
      tables: [],
      table: null,
      page: 1,
      page_size: 10,
      total: 0,
      rows: [],
    });
    await store.writeDump(dump('node-1', 0));
    await store.writeDump(dump('node-2', 1));
    const workers = [
      { name: 'node-1', worker: 0 },
      { name: 'node-2', worker: 1 },
      { name: 'node-3', worker: 0 },
    ];
    expect(await store.readDumps(requestId, workers)).toEqual([
      dump('node-1', 0),
      dump('node-2', 1),
    ]);
    expect(await store.readDumps(requestId, [])).toEqual([]);
    expect(await redis.pttl(keys.dump(requestId, 'node-1:0'))).toBeLessThanOrEqual(30_000);
  });
});

describe('acknowledgements', () => {
  test('reach the worker they are for, in order, and the loop ends when it is stopped', async () => {
    const acknowledgements = new Acknowledgements({ redis, mac });
    const rids = [randomUUID(), randomUUID(), randomUUID()];
    await acknowledgements.push('node-1:0', [
      { rid: rids[0] ?? '', seq: 0 },
      { rid: rids[1] ?? '', seq: 1 },
    ]);
    await acknowledgements.push('node-1:1', [{ rid: randomUUID(), seq: 0 }]);
    await acknowledgements.push('node-1:0', []);
    await redis.rpush(keys.acknowledgements('node-1:0'), 'torn');
    expect(await redis.ttl(keys.acknowledgements('node-1:0'))).toBeGreaterThan(6.9 * 86_400);
    const stop = new AbortController();
    const heard: Acknowledgement[] = [];
    const loop = acknowledgements.consume('node-1:0', {
      ...{ blocking: await open('blocking'), signal: stop.signal },
      onAcknowledged: (batch) => {
        heard.push(...batch);
        if (heard.length === 3) stop.abort();
      },
    });
    await acknowledgements.push('node-1:0', [{ rid: rids[2] ?? '', seq: 2 }]);
    await loop;
    expect(heard.map(({ rid, seq }) => ({ rid, seq }))).toEqual(
      rids.map((rid, seq) => ({ rid, seq })),
    );
  });

  test('S53: forged, altered and misdirected lists are not believed', async () => {
    const acknowledgements = new Acknowledgements({ redis, mac });
    const stranger = createControlPlaneMac({ current: 's'.repeat(43) });
    const key = keys.acknowledgements('node-1:0');
    const [rid, other] = [randomUUID(), randomUUID()];
    await acknowledgements.push('node-2:0', [{ rid, seq: 0 }]);
    const ofAnother = (await redis.lrange(keys.acknowledgements('node-2:0'), 0, -1))[0] ?? '';
    await new Acknowledgements({ redis, mac: stranger }).push('node-1:0', [{ rid, seq: 0 }]);
    await redis.rpush(key, ofAnother);
    await redis.rpush(key, JSON.stringify([{ rid, seq: 0 }]));
    await acknowledgements.push('node-1:0', [{ rid: other, seq: 0 }]);
    const signed: Acknowledgement[] = JSON.parse((await redis.lrange(key, -1, -1))[0] ?? '[]');
    await redis.rpush(key, JSON.stringify([...signed, { rid, seq: 0 }]));
    await acknowledgements.push('node-1:0', [{ rid: other, seq: 1 }]);
    const stop = new AbortController();
    const heard: Acknowledgement[] = [];
    await acknowledgements.consume('node-1:0', {
      ...{ blocking: await open('blocking'), signal: stop.signal },
      onAcknowledged: (batch) => {
        heard.push(...batch);
        if (heard.length >= 2) stop.abort();
      },
    });
    expect(heard.map(({ rid, seq }) => ({ rid, seq }))).toEqual([
      { rid: other, seq: 0 },
      { rid: other, seq: 1 },
    ]);
  });

  test('come again after the connection broke', async () => {
    const acknowledgements = new Acknowledgements({ redis, mac });
    const stop = new AbortController();
    const heard: Acknowledgement[] = [];
    const blocking = await open('blocking');
    const loop = acknowledgements.consume('node-1:0', {
      ...{ blocking, signal: stop.signal },
      onAcknowledged: (batch) => {
        heard.push(...batch);
        stop.abort();
      },
    });
    while (!(await blockedClients()));
    await Promise.all(
      primariesOf(redis).map((primary) =>
        primary.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'),
      ),
    );
    await acknowledgements.push('node-1:0', [{ rid: randomUUID(), seq: 0 }]);
    await loop;
    expect(heard).toHaveLength(1);
  });
});

describe('epochs', () => {
  test('are set once at the first start, and known until they change', async () => {
    const epochs = new Epochs(redis);
    const cache = new EpochCache(epochs);
    expect(await cache.expected('s01')).toBeNull();
    expect(await epochs.initialise('s01', 'e1')).toBe(true);
    expect(await epochs.initialise('s01', 'e2')).toBe(false);
    expect(await Promise.all([cache.expected('s01'), cache.expected('s01')])).toEqual(['e1', 'e1']);
    await epochs.set('s01', 'e2');
    expect(await cache.expected('s01')).toBe('e1');
    expect(await cache.refresh('s01')).toBe('e2');
    await epochs.clear('s01');
    expect(await cache.refresh('s01')).toBeNull();
  });

  test('of a shard that is being filled are known to the process that fills it alone', async () => {
    const epochs = new Epochs(redis);
    await epochs.beginRebuild('s01', 'token');
    expect(await new EpochCache(epochs).expected('s01')).toBeNull();
    expect(await new EpochCache(epochs, { isRebuilder: true }).expected('s01')).toBe(
      await epochs.readRaw('s01'),
    );
    expect(await epochs.initialise('s01', 'e1')).toBe(false);
  });
});

describe('a connection', () => {
  test.each(['hot', 'plain'] as const)(
    'of role %s refuses at once while Redis is away',
    async (role) => {
      const connection = await open(role);
      connection.disconnect(true);
      await expect(connection.get('x')).rejects.toThrow();
      await once(connection, 'ready');
      expect(await connection.get('x')).toBeNull();
    },
  );

  test.each(['hot', 'plain'] as const)(
    'of role %s fails what was under way at once when it breaks',
    async (role) => {
      const connection = await open(role);
      const failed = expect(connection.blpop('never', 20)).rejects.toThrow();
      while (!(await blockedClients()));
      const startedMs = performance.now();
      connection.disconnect(true);
      await failed;
      expect(performance.now() - startedMs).toBeLessThan(1_000);
      await once(connection, 'ready');
    },
  );

  test('of role blocking waits for Redis to return', async () => {
    const connection = await open('blocking');
    connection.disconnect(true);
    expect(await connection.get('x')).toBeNull();
  });

  test('to nowhere is not ready in time, and reports why', async () => {
    const errors: Error[] = [];
    const connection = openRedis('redis://127.0.0.1:1', {
      role: 'plain',
      name: 'nowhere',
      onError: (error) => errors.push(error),
    });
    opened.push(connection);
    await expect(redisReady(connection, 100)).rejects.toThrow('not ready within 100 ms');
    expect(errors.length).toBeGreaterThan(0);
  });

  test('of role hot sends what one turn of the event loop asks in one go', async () => {
    const world = await openWorld(services.redisUrl);
    const tenant = await world.tenant();
    await openAccount(tenant);
    const written = (): Promise<number> => sumOf('stats', 'total_writes_processed');
    const before = await written();
    const accounts = Array.from({ length: 200 }, (_, index) => ({
      accountId: 1 + index * SHARDS,
      modelId: 1,
    }));
    expect(await tenant.live.getBalances(accounts)).toEqual(accounts.map(() => null));
    expect((await written()) - before).toBeLessThan(20 * primariesOf(redis).length);
    world.close();
  });
});
