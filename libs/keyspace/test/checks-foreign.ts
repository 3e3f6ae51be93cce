import assert from 'node:assert/strict';
import { publishSnapshot, sealSnapshot } from '@tollgate/snapshot';
import { createControlPlaneMac } from '@tollgate/contracts';
import { alterHold } from '@tollgate/harness';
import { FleetStore, LiveCounts, type RelayRequest } from '../src/index.ts';
import { keys } from '../src/keys.ts';
import { settle } from './tenant-acts.ts';
import { admitted, MODEL_ID, openAccount, SHARDS, type Checks, type World } from './world.ts';

const POLL: RelayRequest = {
  owner: 'a',
  leaseMs: 5_000,
  relayedIds: [],
  entriesMax: 100,
  bytesMax: 100_000,
  expiredHoldsMax: 10,
};
const FIFTEEN_MINUTES_MS = 15 * 60_000;

/** Checks data that other programs write into keys that are Tollgate's. */
export const foreignChecks: Checks = {
  'a latest time that is none stops no settlement, doubles no event and keeps no marker without an end':
    async (world) => {
      for (const written of ['abc', '1e300', 'inf', 'nan', '-5', '1.5', '99999999999999999999']) {
        const tenant = await world.tenant();
        await openAccount(tenant);
        const rid = await admitted(tenant);
        await tenant.redis.set(keys.latestTime(tenant.shard), written);
        assert.equal((await settle(tenant, rid, 1)).kind, 'settled', written);
        assert.equal(await tenant.redis.xlen(keys.outbox(tenant.shard)), 1, written);
        const ttl = await tenant.redis.pttl(keys.hold(tenant.shard, rid));
        assert.ok(ttl > 0 && ttl <= FIFTEEN_MINUTES_MS, `${written}: ${ttl}`);
        const latest = await tenant.redis.get(keys.latestTime(tenant.shard));
        assert.equal(latest, String(tenant.clock.now), written);
      }
    },

  'a text that is no hold counts for nothing, leaves the index, and keeps no request from being settled':
    async (world) => {
      for (const change of [{ st: 'strange' }, { acct: null }, { model: null }]) {
        const tenant = await world.tenant();
        await openAccount(tenant);
        const { redis, shard, library, epochCache: epochs, accountId } = tenant;
        const rid = await admitted(tenant);
        await alterHold(redis, keys.hold(shard, rid), change);
        const ref = { accountId, modelId: MODEL_ID };
        const counts = new LiveCounts({ library, epochs, shards: SHARDS });
        const [found] = (await counts.recountHolds([ref])).subscriptions;
        assert.deepEqual(found, { ...ref, before: '100', held: 0 });
        tenant.clock.now += 60_000;
        const polled = await tenant.store.relay(shard, POLL);
        assert.deepEqual(polled.kind === 'leased' && polled.expiredHolds, []);
        assert.equal(await redis.zcard(keys.holds(shard)), 0);
        const settled = await settle(tenant, rid, 1);
        assert.equal(settled.kind === 'settled' && settled.from, 'none');
      }
    },

  'a relay lease without an end, or with one that no relay gives, keeps no shard': async (
    world,
  ) => {
    const { redis, store, shard } = await world.tenant();
    await redis.set(keys.relay(shard), 'a stranger');
    assert.equal((await store.relay(shard, POLL)).kind, 'leased');
    await redis.set(keys.relay(shard), 'a stranger', 'PX', 60_900);
    assert.equal((await store.relay(shard, POLL)).kind, 'leased');
    await redis.set(keys.relay(shard), 'another', 'PX', 59_000);
    assert.equal((await store.relay(shard, POLL)).kind, 'held_elsewhere');
  },
};

/** A current version that is none, or of another type, keeps no snapshot from being published. There is one in a Redis: called by the check that publishes too. */
export async function publishOverForeign({ redis, library }: World): Promise<void> {
  const fleet = new FleetStore({ redis, library });
  const version = ((await fleet.currentVersion()) ?? 0) + 10;
  const snapshot = publishSnapshot({
    version,
    publishedAtMs: 1,
    document: { format: 1, models: [], upstreams: [], routes: [] },
  });
  const seal = sealSnapshot(createControlPlaneMac({ current: 'k'.repeat(43) }), {
    installation: '7b0c1a52-8a54-4a53-9b3c-7a3b0f3f3a10',
    lineage: 1,
    version,
    checksum: snapshot.checksum,
  });
  assert.equal(await fleet.isCurrentUnreadable(), false);
  for (const write of [
    () => redis.set(keys.currentSnapshot, '9007199254740993'),
    () => redis.set(keys.currentSnapshot, '1e9'),
    () => redis.hset(keys.currentSnapshot, 'another', 'type'),
  ]) {
    await redis.del(keys.currentSnapshot, keys.snapshotSeal(version));
    await write();
    await redis.rpush(keys.snapshotSeal(version), 'another type');
    assert.equal(await fleet.isCurrentUnreadable(), (await fleet.currentVersion()) === null);
    assert.equal(await fleet.fetchSeal(version), null);
    assert.deepEqual(await fleet.publish(snapshot, seal), { kind: 'published' });
    assert.equal(await fleet.currentVersion(), version);
    assert.deepEqual(await fleet.fetchSeal(version), seal);
  }
}
