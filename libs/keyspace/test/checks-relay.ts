import assert from 'node:assert/strict';
import type { RelayReply, RelayRequest } from '../src/index.ts';
import { keys } from '../src/keys.ts';
import { admitted, MODEL_ID, openAccount, request, type Checks, type Tenant } from './world.ts';

export const relayChecks: Checks = {
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
  'a lease of ten minutes is kept, a longer one is shortened to a minute': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const holds = keys.holds(tenant.shard);
    const [longest, longer] = [await admitted(tenant), await admitted(tenant)];
    const { now } = tenant.clock;
    await tenant.redis.zadd(holds, now + 600_000, longest, now + 600_001, longer);
    await poll(tenant, {});
    const leases = [longest, longer].map((rid) => tenant.redis.zscore(holds, rid));
    assert.deepEqual((await Promise.all(leases)).map(Number), [now + 600_000, now + 60_000]);
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
};

const POLL: RelayRequest = {
  owner: 'a',
  leaseMs: 5_000,
  relayedIds: [],
  entriesMax: 100,
  bytesMax: 100_000,
  expiredHoldsMax: 10,
};

async function poll(
  tenant: Tenant,
  changes: Partial<RelayRequest>,
): Promise<Extract<RelayReply, { kind: 'leased' }>> {
  const reply = await tenant.store.relay(tenant.shard, { ...POLL, ...changes });
  assert.ok(reply.kind === 'leased');
  return reply;
}

/** Asks until the relay is leased: a lease of a millisecond ends by Redis' own clock. */
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
