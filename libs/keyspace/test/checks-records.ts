import assert from 'node:assert/strict';
import { sealSnapshot, type PublishedSnapshot, type SnapshotSeal } from '@tollgate/snapshot';
import { createControlPlaneMac } from '@tollgate/contracts';
import { FleetStore, type RelayReply, type RelayRequest } from '../src/index.ts';
import { keys } from '../src/keys.ts';
import {
  admitted,
  funds,
  contents,
  credit,
  MODEL_ID,
  openAccount,
  OTHER_MODEL_ID,
  putKey,
  putSubscription,
  request,
  SUBSCRIPTION_ID,
  type Checks,
  type Tenant,
} from './world.ts';

const POLL: RelayRequest = {
  owner: 'a',
  leaseMs: 5_000,
  relayedIds: [],
  entriesMax: 100,
  bytesMax: 100_000,
  expiredHoldsMax: 10,
};

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
      rpm: 1,
      rph: 2,
      rpd: 3,
      allowedModels: 'a,b',
      allowlist: '',
      drain: true,
      revision: 4,
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
      status: 'active',
      drain: false,
      revision: 1,
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

  'a lost shard is rebuilt with an opening balance, and goes on with the next credit': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await putSubscription(tenant, { opening: { balance: -40, creditSeq: 6 } });
    assert.equal((await funds(tenant))?.balance, -40);
    const ask = {
      accountId: tenant.accountId,
      modelId: MODEL_ID,
      subscriptionId: SUBSCRIPTION_ID,
      deltaTokens: 100,
    };
    assert.deepEqual(await tenant.store.credit({ ...ask, seq: 6 }), { kind: 'duplicate', seq: 6 });
    assert.deepEqual(await tenant.store.credit({ ...ask, seq: 8 }), { kind: 'gap', seq: 6 });
    assert.deepEqual(await tenant.store.credit({ ...ask, seq: 7 }), {
      kind: 'applied',
      balance: 60,
    });
  },

  'credits apply once and in order, also before the record is there, and only to their own subscription':
    async (world) => {
      const tenant = await world.tenant();
      const ask = {
        accountId: tenant.accountId,
        modelId: MODEL_ID,
        subscriptionId: SUBSCRIPTION_ID,
      };
      assert.deepEqual(await tenant.store.credit({ ...ask, seq: 2, deltaTokens: 100 }), {
        kind: 'gap',
        seq: 0,
      });
      assert.deepEqual(await tenant.store.credit({ ...ask, seq: 1, deltaTokens: 100 }), {
        kind: 'applied',
        balance: 100,
      });
      await putSubscription(tenant);
      assert.deepEqual(await tenant.store.credit({ ...ask, seq: 1, deltaTokens: 100 }), {
        kind: 'duplicate',
        seq: 1,
      });
      assert.deepEqual(await tenant.store.credit({ ...ask, seq: 2, deltaTokens: -30 }), {
        kind: 'applied',
        balance: 70,
      });
      const before = await contents(tenant);
      await assert.rejects(
        tenant.store.credit({ ...ask, subscriptionId: 77, seq: 3, deltaTokens: 1 }),
        /another subscription/,
      );
      await assert.rejects(
        tenant.store.credit({ ...ask, seq: 3, deltaTokens: Number.MAX_SAFE_INTEGER }),
        /too large/,
      );
      const { shard, accountId, library } = tenant;
      for (const args of [
        ['3', '1.5'],
        ['3', '--1'],
        ['3', '-'],
        ['-3', '1'],
        ['3', 'nan'],
      ]) {
        await assert.rejects(
          library.call(
            'credit',
            [keys.epoch(shard), keys.subscription(shard, accountId, MODEL_ID)],
            ['e1', SUBSCRIPTION_ID, ...args],
          ),
          /invalid credit/,
        );
      }
      assert.deepEqual(await contents(tenant), before);
      assert.deepEqual(
        await tenant.store.credit({ ...ask, seq: 3, deltaTokens: Number.MAX_SAFE_INTEGER - 70 }),
        { kind: 'applied', balance: Number.MAX_SAFE_INTEGER },
      );
    },

  'a late write cannot undo a withdrawal; a newer generation opens the subscription again': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await tenant.store.withdraw({
      accountId: tenant.accountId,
      modelId: MODEL_ID,
      subscriptionId: SUBSCRIPTION_ID,
      withdrawalId: tenant.rid(),
      drain: true,
    });
    await putSubscription(tenant, { revision: 1 });
    assert.equal((await funds(tenant))?.status, 'closing');
    assert.equal(
      await tenant.redis.hget(keys.subscription(tenant.shard, tenant.accountId, MODEL_ID), 'drain'),
      '1',
      'nor that it drains',
    );
    await putSubscription(tenant, { status: 'closed', revision: 2 });
    await putSubscription(tenant, { status: 'closing', revision: 3 });
    assert.equal((await funds(tenant))?.status, 'closed');
    await putSubscription(tenant, { generation: 2, revision: 4 });
    assert.equal((await funds(tenant))?.status, 'active');
    const late = {
      accountId: tenant.accountId,
      modelId: MODEL_ID,
      id: SUBSCRIPTION_ID,
      drain: false,
      revision: 9,
      withdrawalId: null,
    } as const;
    assert.equal(
      (await tenant.live.putSubscription({ ...late, status: 'closed', generation: 1 })).kind,
      'stale',
    );
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

  'one relay at a time has a shard, until its lease ends or it gives it up': async (world) => {
    const tenant = await world.tenant();
    const { store, shard } = tenant;
    assert.equal((await store.relay(shard, { ...POLL, leaseMs: 1 })).kind, 'leased');
    await untilLeased(tenant, { ...POLL, owner: 'b' });
    const elsewhere = await store.relay(shard, POLL);
    assert.ok(
      elsewhere.kind === 'held_elsewhere' && elsewhere.leaseMs > 0 && elsewhere.leaseMs <= 5_000,
    );
    assert.equal(
      (await store.relay(shard, { ...POLL, owner: 'b' })).kind,
      'leased',
      'its owner renews it',
    );
    await store.releaseRelay(shard, { owner: 'a', relayedIds: [] });
    assert.equal(
      (await store.relay(shard, POLL)).kind,
      'held_elsewhere',
      'only the owner of a lease can give it up',
    );
    await store.releaseRelay(shard, { owner: 'b', relayedIds: [] });
    assert.equal((await store.relay(shard, POLL)).kind, 'leased');
    await assert.rejects(store.relay(shard, { ...POLL, leaseMs: 0 }), /releaseRelay/);
  },

  'events stay in the outbox, in order, until their relay says that they are in the queue': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rids = await settledRequests(tenant, 5);
    const first = await poll(tenant, { entriesMax: 2 });
    assert.deepEqual(
      first.entries.map((entry) => entry.rid),
      rids.slice(0, 2),
    );
    assert.equal(first.outboxLength, 5);
    assert.deepEqual(await poll(tenant, { entriesMax: 2 }), first, 'asked again, they come again');
    const relayedIds = first.entries.map((entry) => entry.outboxId);
    await assert.rejects(
      tenant.store.relay(tenant.shard, {
        ...POLL,
        relayedIds: Array.from({ length: 1_001 }, () => '1-1'),
      }),
      /at most/,
    );
    await tenant.store.relay(tenant.shard, { ...POLL, owner: 'thief', relayedIds });
    const second = await poll(tenant, { relayedIds });
    assert.deepEqual(
      second.entries.map((entry) => entry.rid),
      rids.slice(2),
    );
    assert.equal(second.outboxLength, 3);
    await tenant.store.releaseRelay(tenant.shard, {
      owner: 'a',
      relayedIds: second.entries.map((entry) => entry.outboxId),
    });
    assert.equal((await poll(tenant, {})).outboxLength, 0);
  },

  'an entry without the fields of an event does not stop its shard': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const foreign = await world.redis.xadd(keys.outbox(tenant.shard), '*', 'event', '{}');
    const [rid] = await settledRequests(tenant, 1);
    const { entries } = await poll(tenant, {});
    assert.deepEqual(
      entries.map((entry) => [entry.rid, entry.seq === '', entry.payload === '']),
      [
        ['{}', true, true],
        [rid, false, false],
      ],
    );
    assert.equal(entries[0]?.outboxId, foreign);
  },

  'a batch is bounded by bytes, but never empty': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await settledRequests(tenant, 4, 'x'.repeat(100));
    for (const [bytesMax, entries] of [
      [1, 1],
      [100, 1],
      [199, 1],
      [200, 2],
      [399, 3],
      [400, 4],
    ] as const) {
      assert.equal((await poll(tenant, { bytesMax })).entries.length, entries, `${bytesMax} bytes`);
    }
  },

  'a relay lists the holds whose lease ran out, oldest first, and forgets those that are gone':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const late = await admitted(tenant, { leaseMs: 2_000 });
      const early = await admitted(tenant, { leaseMs: 1_000 });
      const gone = await admitted(tenant, { leaseMs: 500 });
      const ref = { accountId: tenant.accountId, modelId: MODEL_ID };
      assert.deepEqual((await poll(tenant, {})).expiredHolds, []);
      tenant.clock.now += 1_000;
      await tenant.redis.del(keys.hold(tenant.shard, gone));
      assert.deepEqual((await poll(tenant, {})).expiredHolds, [{ rid: early, ...ref }]);
      assert.equal(await tenant.redis.zcard(keys.holds(tenant.shard)), 2);
      tenant.clock.now += 1_000;
      assert.deepEqual((await poll(tenant, {})).expiredHolds, [
        { rid: early, ...ref },
        { rid: late, ...ref },
      ]);
      assert.deepEqual((await poll(tenant, { expiredHoldsMax: 1 })).expiredHolds, [
        { rid: early, ...ref },
      ]);
      const dangling = tenant.rid();
      await tenant.redis.zadd(keys.holds(tenant.shard), 1, dangling);
      await tenant.store.reap({ rid: dangling, ...ref });
      assert.equal(await tenant.redis.zscore(keys.holds(tenant.shard), dangling), null);
    },

  'a hold that was taken while the clock was a day ahead ends a minute after the clock is right again':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      tenant.clock.now += 86_400_000;
      const orphan = await admitted(tenant, { leaseMs: 60_000 });
      tenant.clock.now -= 86_400_000;
      const own = await admitted(tenant, { leaseMs: 60_000 });
      const deadline = Number(await tenant.redis.zscore(keys.holds(tenant.shard), own));
      const ref = { accountId: tenant.accountId, modelId: MODEL_ID };
      assert.deepEqual((await poll(tenant, {})).expiredHolds, []);
      assert.equal(Number(await tenant.redis.zscore(keys.holds(tenant.shard), own)), deadline);
      tenant.clock.now += 60_000;
      assert.deepEqual(
        new Set((await poll(tenant, {})).expiredHolds.map(({ rid }) => rid)),
        new Set([orphan, own]),
      );
      assert.equal((await tenant.store.reap({ rid: orphan, ...ref })).kind, 'reaped');
    },

  'relay refuses bounds that are no numbers': async (world) => {
    const tenant = await world.tenant();
    const { shard, library } = tenant;
    const good = ['a', 5_000, 10, 10, 10, keys.holdPrefix(shard), ''];
    for (const position of [1, 2, 3, 4]) {
      await assert.rejects(
        library.call(
          'relay',
          [keys.relay(shard), keys.outbox(shard), keys.holds(shard)],
          good.with(position, '-1'),
        ),
        /invalid relay/,
      );
    }
  },

  'the current snapshot never goes back, and the ones before it can be fetched for a day': async (
    world,
  ) => {
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
    const ttl = await redis.ttl(keys.snapshot(base));
    assert.ok(ttl > 86_000 && ttl <= 86_400, String(ttl));
    assert.equal(await redis.ttl(keys.snapshot(base + 1)), -1);
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

async function poll(
  tenant: Tenant,
  changes: Partial<RelayRequest>,
): Promise<Extract<RelayReply, { kind: 'leased' }>> {
  const reply = await tenant.store.relay(tenant.shard, { ...POLL, ...changes });
  assert.ok(reply.kind === 'leased');
  return reply;
}

/** The lease of a millisecond ends by Redis' own clock. */
async function untilLeased(tenant: Tenant, ask: RelayRequest): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1)
    if ((await tenant.store.relay(tenant.shard, ask)).kind === 'leased') return;
  assert.fail('the lease never ended');
}

async function settledRequests(tenant: Tenant, count: number, payload = '{}'): Promise<string[]> {
  const rids: string[] = [];
  for (let nth = 0; nth < count; nth += 1) {
    const asked = request(tenant);
    await tenant.store.admit(asked);
    await tenant.store.settle({
      rid: asked.rid,
      accountId: tenant.accountId,
      modelId: MODEL_ID,
      chargeTokens: 1,
      payload,
      reEmit: false,
    });
    rids.push(asked.rid);
  }
  return rids;
}
