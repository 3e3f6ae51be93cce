import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { FORMATS, type FleetMessage, type NodeDump } from '@tollgate/contracts';
import { publishSnapshot, sealSnapshot } from '@tollgate/snapshot';
import { until } from '@tollgate/harness';
import { FleetStore, FunctionLibrary, primariesOf } from '../src/index.ts';
import { keys } from '../src/keys.ts';
import { mac, open, redis, report } from './stores-under-test.ts';

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
    const heardOf = (count: number): Promise<void> =>
      new Promise((resolve) => {
        hear = () => heard.length >= count && resolve();
        hear();
      });
    await redis.publish(keys.fleetChannel, 'no json');
    await redis.publish(keys.fleetChannel, '{"kind":"of a later release"}');
    await store.announce({ kind: 'reload', node: null });
    await heardOf(1);
    await Promise.all(
      primariesOf(redis).map((primary) => primary.call('CLIENT', 'KILL', 'TYPE', 'pubsub')),
    );
    // Messages that are sent before it listens again are lost.
    await until('it listens again', async () => {
      await store.announce({ kind: 'desired', node: 'node-1' });
      return heard.length >= 2;
    });
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

  test('a report under an address that is not its own is none: a copy cannot stand beside the real one', async () => {
    const store = newStore();
    await store.writeReport(report());
    const text = (await redis.hget(keys.nodes, 'node-1:0')) ?? '';
    for (const address of ['ghost:0', 'node-1:1', 'node-1', 'no address\n'])
      await redis.hset(keys.nodes, address, text);
    const age = { nowMs: 1_000, ageMaxMs: 60_000 };
    expect(await store.listReports(age)).toHaveLength(1);
    await store.removeReports('another');
    expect(await store.pruneReports(age)).toHaveLength(1);
    expect(await redis.hkeys(keys.nodes)).toEqual(['node-1:0']);
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
