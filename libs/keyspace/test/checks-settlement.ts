import assert from 'node:assert/strict';
import { usageReapSchema } from '@tollgate/contracts';
import { keys } from '../src/keys.ts';
import { refOf, settle, checkpoint, reapedAt } from './tenant-acts.ts';
import {
  admitted,
  funds,
  contents,
  credit,
  drain,
  MODEL_ID,
  openAccount,
  OTHER_MODEL_ID,
  putSubscription,
  request,
  SUBSCRIPTION_ID,
  type Checks,
} from './world.ts';

export const settlementChecks: Checks = {
  'a settlement releases the hold, debits the charge and emits the event in one step': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await admitted(tenant);
    assert.deepEqual(await settle(tenant, rid, 60), {
      kind: 'settled',
      balance: 940,
      from: 'open',
    });
    assert.deepEqual(await funds(tenant), { balance: 940, held: 0, running: 0, status: 'active' });
    assert.deepEqual(await drain(tenant), [{ rid, seq: '0', delta: '60', payload: 'final 60' }]);
  },

  'a request that cost nothing leaves a delta of 0, never -0': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 100 });
    const rid = await admitted(tenant);
    await settle(tenant, rid, 0);
    const free = await admitted(tenant, { wantTokens: 0, minTokens: 0 });
    await settle(tenant, free, 0);
    assert.deepEqual(
      (await drain(tenant)).map((event) => event.delta),
      ['0', '0'],
    );
    assert.deepEqual(await funds(tenant), { balance: 100, held: 0, running: 0, status: 'active' });
  },

  'a charge above its hold goes below zero by what the upstream exceeded, and the next credit pays it first':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant, { tokens: 100 });
      await settle(tenant, await admitted(tenant), 130);
      assert.equal((await funds(tenant))?.balance, -30);
      assert.deepEqual(await tenant.store.admit(request(tenant)), {
        kind: 'balance_too_low',
        balance: -30,
        subscriptionId: SUBSCRIPTION_ID,
        dueTokens: 0,
      });
      await credit(tenant, 2, 50);
      assert.equal((await funds(tenant))?.balance, 20);
    },

  'settling twice, or three times at once, charges once': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await admitted(tenant);
    const replies = await Promise.all([
      settle(tenant, rid, 60),
      settle(tenant, rid, 60),
      settle(tenant, rid, 60),
    ]);
    assert.deepEqual(replies.map((reply) => reply.kind).toSorted(), [
      'duplicate',
      'duplicate',
      'settled',
    ]);
    assert.equal((await funds(tenant))?.balance, 940);
    assert.equal((await drain(tenant)).length, 1);
  },

  'a hold whose lease ran out is charged its checkpoint; the final that comes later is a correction':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const rid = await admitted(tenant, { priceVersionId: 77, node: 'node-1:3' });
      await checkpoint(tenant, rid, { usedTokens: 40 });
      await checkpoint(tenant, rid, { usedTokens: 30 });
      const ref = refOf(tenant, rid);
      tenant.clock.now += 59_999;
      assert.equal((await tenant.store.reap(ref)).kind, 'alive');
      tenant.clock.now += 1;
      assert.deepEqual(await tenant.store.reap(ref), { kind: 'reaped', chargedTokens: 40 });
      assert.equal((await tenant.store.reap(ref)).kind, 'not_open');
      assert.deepEqual(await funds(tenant), {
        balance: 960,
        held: 0,
        running: 0,
        status: 'active',
      });
      assert.deepEqual(await settle(tenant, rid, 55), {
        kind: 'settled',
        balance: 945,
        from: 'reaped',
      });
      const [reaped, corrected] = await drain(tenant);
      assert.ok(reaped);
      const { payload, ...event } = reaped;
      assert.deepEqual(event, { rid, seq: '0', delta: '40' });
      assert.deepEqual(usageReapSchema.parse(JSON.parse(payload)), {
        ...{
          kind: 'reap',
          account_id: tenant.accountId,
          key_id: 5,
          subscription_id: SUBSCRIPTION_ID,
          model_id: MODEL_ID,
          price_version_id: 77,
          node: 'node-1:3',
        },
      });
      assert.deepEqual(corrected, { rid, seq: '1', delta: '15', payload: 'final 55' });
    },

  'a correction may be negative, or nothing at all, and is always emitted': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    for (const [charge, delta] of [
      [10, '-30'],
      [40, '0'],
    ] as const) {
      const rid = await reapedAt(tenant, 40);
      await drain(tenant);
      await settle(tenant, rid, charge);
      assert.deepEqual(await drain(tenant), [{ rid, seq: '1', delta, payload: `final ${charge}` }]);
    }
    assert.equal((await funds(tenant))?.balance, 950);
  },

  'a settlement whose acknowledgement never came leaves again on request, each event with its own payload':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const plain = await admitted(tenant);
      await settle(tenant, plain, 60);
      const corrected = await reapedAt(tenant, 40);
      await settle(tenant, corrected, 55);
      const first = await drain(tenant);
      assert.equal((await settle(tenant, plain, 60)).kind, 'duplicate');
      assert.deepEqual(await drain(tenant), [], 'not without being asked');
      await settle(tenant, plain, 60, { reEmit: true });
      await settle(tenant, corrected, 55, { reEmit: true });
      assert.deepEqual(await drain(tenant), first);
    },

  'a final of a hold that Redis lost is debited': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = tenant.rid();
    assert.deepEqual(await settle(tenant, rid, 30), {
      kind: 'settled',
      balance: 970,
      from: 'none',
    });
    assert.equal((await settle(tenant, rid, 30)).kind, 'duplicate');
    assert.deepEqual(await drain(tenant), [{ rid, seq: '0', delta: '30', payload: 'final 30' }]);
    const again = await tenant.store.admit(request(tenant, { rid }));
    assert.deepEqual(again, {
      kind: 'duplicate',
      state: 'done',
      grantedTokens: 0,
      keyId: 0,
      subscriptionId: 0,
      generation: 0,
      claims: '',
      epoch: 'e1',
    });
  },

  'a final without a trace that is older than any marker is fenced: only PostgreSQL can tell whether it was settled':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const before = await contents(tenant);
      assert.deepEqual(await settle(tenant, tenant.rid(14 * 60_000), 30), {
        kind: 'fenced',
        by: 'age',
      });
      assert.deepEqual(await contents(tenant), before);
      assert.equal((await settle(tenant, tenant.rid(14 * 60_000 - 1), 30)).kind, 'settled');
    },

  'an old request with a hold is settled whatever its age': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await admitted(tenant);
    const reaped = await reapedAt(tenant, 5);
    tenant.clock.now += 20 * 3_600_000;
    assert.equal((await settle(tenant, rid, 30)).kind, 'settled');
    assert.equal((await settle(tenant, reaped, 30)).kind, 'settled');
  },

  'markers stay 15 minutes after a settlement and a day after a reap': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const settled = await admitted(tenant);
    await settle(tenant, settled, 1);
    const reaped = await reapedAt(tenant, 5);
    const ttlOf = (rid: string): Promise<number> => tenant.redis.pttl(keys.hold(tenant.shard, rid));
    assert.ok(Math.abs((await ttlOf(settled)) - 900_000) < 10_000);
    assert.ok(Math.abs((await ttlOf(reaped)) - 86_400_000) < 10_000);
    await settle(tenant, reaped, 5);
    assert.ok(Math.abs((await ttlOf(reaped)) - 900_000) < 10_000);
    assert.equal(await ttlOf(await admitted(tenant)), -1, 'an open hold never expires by itself');
  },

  'usage of a subscription Redis does not know is remembered and emitted': async (world) => {
    const tenant = await world.tenant();
    const rid = tenant.rid();
    assert.deepEqual(await settle(tenant, rid, 30), {
      kind: 'settled',
      balance: -30,
      from: 'none',
    });
    assert.equal((await drain(tenant)).length, 1);
    await putSubscription(tenant);
    await credit(tenant, 1, 100);
    assert.deepEqual(await funds(tenant), { balance: 70, held: 0, running: 0, status: 'active' });
  },

  'a hold is settled and reaped against its own subscription or not at all': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await admitted(tenant);
    tenant.clock.now += 60_000;
    const before = await contents(tenant);
    for (const ref of [
      { ...refOf(tenant, rid), modelId: OTHER_MODEL_ID },
      { ...refOf(tenant, rid), accountId: tenant.otherAccountId },
    ]) {
      await assert.rejects(
        tenant.store.settle({ ...ref, chargeTokens: 1, payload: '{}', reEmit: false }),
        /another subscription/,
      );
      await assert.rejects(tenant.store.reap(ref), /another subscription/);
      await assert.rejects(
        tenant.store.checkpoint({
          ...ref,
          keyHash: tenant.keyHash,
          node: 'node-1:0',
          usedTokens: 1,
          extendTokens: 1,
          leaseMs: 1,
        }),
        /another subscription/,
      );
    }
    assert.deepEqual(await contents(tenant), before);
  },

  'a charge that is not a whole number from zero up is refused and changes nothing': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await admitted(tenant);
    const { shard, accountId } = tenant;
    const before = await contents(tenant);
    const functionKeys = [
      keys.epoch(shard),
      keys.subscription(shard, accountId, MODEL_ID),
      keys.hold(shard, rid),
      keys.holds(shard),
      keys.outbox(shard),
      keys.latestTime(shard),
    ];
    for (const bad of ['-1', '1.5', 'nan', '']) {
      await assert.rejects(
        tenant.library.call('settle', functionKeys, [
          'e1',
          rid,
          accountId,
          MODEL_ID,
          bad,
          '{}',
          0,
          tenant.clock.now,
        ]),
        /invalid settle/,
      );
    }
    assert.deepEqual(await contents(tenant), before);
  },
};
