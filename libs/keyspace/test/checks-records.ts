import assert from 'node:assert/strict';
import { NO_LIMITS } from '../src/index.ts';
import { sealSnapshot, type PublishedSnapshot, type SnapshotSeal } from '@tollgate/snapshot';
import { createControlPlaneMac } from '@tollgate/contracts';
import { FleetStore } from '../src/index.ts';
import { keys } from '../src/keys.ts';
import { publishOverForeign } from './checks-foreign.ts';
import {
  admitted,
  contents,
  credit,
  funds,
  MODEL_ID,
  openAccount,
  OTHER_MODEL_ID,
  putKey,
  putSubscription,
  SUBSCRIPTION_ID,
  type Checks,
} from './world.ts';

export const recordChecks: Checks = {
  'a live record is replaced by its own or a newer revision, never by an older one': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const { live, accountId, keyHash } = tenant;
    const key = {
      accountId,
      keyHash,
      id: 5,
      status: 'disabled',
      expiresAtMs: 8,
      ...NO_LIMITS,
      ...{ rpm: 1, tpd: 2, concurrency: 3, countsCacheReads: false },
      rates: [{ window: 'tpm', limit: 4, models: 'a,b*', countsCacheReads: true }],
      allowedModels: 'a,b',
      allowlist: '',
      drain: true,
      revision: 4,
      budgets: '[]',
    } as const;
    assert.equal((await live.putKey(key)).kind, 'applied');
    assert.deepEqual(await live.getKey(accountId, keyHash), key);
    const before = await contents(tenant);
    assert.equal((await live.putKey({ ...key, status: 'enabled', revision: 3 })).kind, 'stale');
    assert.equal(
      (await live.putAccount({ accountId, status: 'frozen', drain: false, revision: 0 })).kind,
      'stale',
    );
    assert.equal(
      (
        await live.putSubscription({
          accountId,
          modelId: MODEL_ID,
          id: SUBSCRIPTION_ID,
          status: 'closed',
          generation: 1,
          drain: false,
          revision: 0,
          withdrawalId: null,
        })
      ).kind,
      'stale',
    );
    assert.deepEqual(await contents(tenant), before);
    assert.equal((await live.putKey({ ...key, status: 'enabled' })).kind, 'applied');
    assert.equal((await live.getKey(accountId, keyHash))?.status, 'enabled');
    assert.deepEqual(await live.getAccount(accountId), {
      accountId,
      budgets: '',
      status: 'active',
      drain: false,
      revision: 1,
      rates: [],
    });
    assert.equal(await live.getAccount(tenant.otherAccountId), null);
  },
  'a deleted key or account leaves a tombstone of two days; one that comes back stays': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const { live, accountId, redis, shard } = tenant;
    await putKey(tenant, { status: 'deleted', revision: 2 });
    await live.putAccount({ accountId, status: 'deleted', drain: false, revision: 2 });
    for (const key of [keys.key(shard, tenant.keyHash), keys.account(shard, accountId)]) {
      const ttl = await redis.pttl(key);
      assert.ok(ttl > 172_700_000 && ttl <= 172_800_000, String(ttl));
    }
    await putKey(tenant, { revision: 3 });
    assert.equal(await redis.pttl(keys.key(shard, tenant.keyHash)), -1);
  },
  'a record with numbers that are none is refused': async (world) => {
    const tenant = await world.tenant();
    const { shard, keyHash, library, accountId } = tenant;
    const good = ['e1', 1, 'enabled', 0, 5, accountId, 0, 1, 2, 3, '', ''];
    for (const position of [1, 4, 5, 6, 7, 8, 9]) {
      await assert.rejects(
        library.call(
          'put_key',
          [keys.epoch(shard), keys.key(shard, keyHash)],
          good.with(position, 'x'),
        ),
        /invalid/,
      );
    }
    const sub = ['e1', MODEL_ID, 9, 'active', 1, 0, 1, '', 0, 0, 0, 0];
    for (const [position, bad] of [
      [3, 'odd'],
      [4, '0'],
      [4, 'x'],
      [6, '-1'],
      [8, '1.5'],
      [9, '-1'],
      [10, '-1'],
      [11, '1.5'],
      [11, ''],
    ] as const) {
      await assert.rejects(
        library.call(
          'put_subscription',
          [
            keys.epoch(shard),
            keys.subscription(shard, accountId, MODEL_ID),
            keys.subscribedModels(shard, accountId),
          ],
          sub.with(position, bad),
        ),
        /invalid/,
      );
    }
    await assert.rejects(
      library.call(
        'put_account',
        [keys.epoch(shard), keys.account(shard, accountId)],
        ['e1', '-1', 'active', 0],
      ),
      /invalid/,
    );
    assert.equal(Object.keys(await contents(tenant)).length, 1);
  },
  'a subscription record never touches the balance, and makes it empty': async (world) => {
    const tenant = await world.tenant();
    await putSubscription(tenant);
    assert.deepEqual(await funds(tenant), { balance: 0, held: 0, running: 0, status: 'active' });
    await putKey(tenant);
    await tenant.live.putAccount({
      accountId: tenant.accountId,
      status: 'active',
      drain: false,
      revision: 1,
    });
    await credit(tenant, 1, 500);
    await admitted(tenant);
    await putSubscription(tenant, { revision: 2, opening: { balance: 9_999, creditSeq: 9 } });
    assert.deepEqual(await funds(tenant), {
      balance: 500,
      held: 100,
      running: 1,
      status: 'active',
    });
  },
  'the subscribed models of an account are those with an active subscription': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await putSubscription(tenant, { modelId: OTHER_MODEL_ID });
    const models = async (): Promise<number[]> => {
      const reply = await tenant.store.access({
        accountId: tenant.accountId,
        keyHash: tenant.keyHash,
        addressHex: '',
      });
      assert.ok(reply.kind === 'allowed' && reply.keyId === 5 && reply.allowedModels === '');
      return reply.subscribedModelIds.toSorted((a, b) => a - b);
    };
    assert.deepEqual(await models(), [MODEL_ID, OTHER_MODEL_ID]);
    await putSubscription(tenant, { status: 'closing', revision: 2 });
    assert.deepEqual(await models(), [OTHER_MODEL_ID]);
  },
  'the current snapshot never goes back, those before it can be fetched for a day, and what is no version is written over':
    async (world) => {
      const { redis, library } = world;
      const fleet = new FleetStore({ redis, library });
      const base = ((await fleet.currentVersion()) ?? 0) + 10;
      const snapshot = (version: number): PublishedSnapshot => ({
        version,
        checksum: '0'.repeat(64),
        published_at: 1,
        document: { format: 1, models: [], upstreams: [], routes: [] },
      });
      const publish = (version: number, options = {}) =>
        fleet.publish(snapshot(version), sealOf(version), options);
      assert.deepEqual(await publish(base), { kind: 'published' });
      assert.deepEqual(await publish(base + 1), { kind: 'published' });
      assert.deepEqual(await publish(base), {
        kind: 'stale',
        currentVersion: base + 1,
      });
      assert.deepEqual(await publish(base + 1), { kind: 'published' }, 'again is harmless');
      assert.deepEqual(await fleet.fetchSeal(base + 1), sealOf(base + 1));
      assert.equal(await fleet.currentVersion(), base + 1);
      for (const keyOf of [keys.snapshot, keys.snapshotSeal]) {
        const ttl = await redis.ttl(keyOf(base));
        assert.ok(ttl > 86_000 && ttl <= 86_400, String(ttl));
        assert.equal(await redis.ttl(keyOf(base + 1)), -1);
      }
      await assert.rejects(
        library.call(
          'publish',
          [keys.currentSnapshot, keys.snapshot(base), keys.snapshotSeal(base)],
          ['x', '{}', '{}', keys.snapshotPrefix, keys.snapshotSealSuffix, 0],
        ),
        /invalid publish/,
      );
      await redis.set(keys.currentSnapshot, '999999999999');
      assert.deepEqual(await publish(base + 2), { kind: 'stale', currentVersion: 999999999999 });
      assert.deepEqual(
        await publish(base + 2, { isForced: true }),
        { kind: 'published' },
        'a forged version is replaced',
      );
      assert.equal(await fleet.currentVersion(), base + 2);
      await publishOverForeign(world);
    },
};

function sealOf(version: number): SnapshotSeal {
  return sealSnapshot(createControlPlaneMac({ current: 'k'.repeat(43) }), {
    installation: '7b0c1a52-8a54-4a53-9b3c-7a3b0f3f3a10',
    lineage: 1,
    version,
    checksum: '0'.repeat(64),
  });
}
