import assert from 'node:assert/strict';
import { claimUnits } from '@tollgate/contracts';
import { LiveCounts } from '../src/index.ts';
import { keys } from '../src/keys.ts';
import {
  ask,
  checkpoint,
  counts,
  extendedBy,
  reap,
  setBudgets,
  settled,
} from './budgets-of-tenant.ts';
import {
  admitted,
  drain,
  funds,
  KEY_ID,
  MODEL_ID,
  openAccount,
  OTHER_MODEL_ID,
  SHARDS,
  SUBSCRIPTION_ID,
  type Checks,
} from './world.ts';

export const budgetPeriodChecks: Checks = {
  'a request belongs to the period in which it was admitted, however it ends': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const start = Math.floor(tenant.clock.now / 1_000);
    const next = start + 30;
    const budget = { id: 8, amount: 300, starts: [start, next], adjusted: { [next]: -290 } };
    await setBudgets(tenant, { ofAccount: [budget] });
    const [one, two, three] = [
      await admitted(tenant),
      await admitted(tenant, { leaseMs: 40_000 }),
      await admitted(tenant),
    ];
    tenant.clock.now = next * 1_000 - 1;
    assert.equal((await ask(tenant)).kind, 'tokens_held');
    tenant.clock.now += 1;
    const four = await ask(tenant);
    assert.equal(four.kind === 'admitted' && four.grantedTokens, 10);
    await settled(tenant, one, 11);
    assert.equal((await checkpoint(tenant, two, 12, 0)).kind, 'ok');
    tenant.clock.now += 60_000;
    assert.equal((await reap(tenant, two)).kind, 'reaped');
    await settled(tenant, two, 20);
    assert.deepEqual(await counts(tenant), {
      [`8:${start}`]: '31,100',
      [`8:${next}`]: '0,10',
    });
    await settled(tenant, three, 1);
    // The last period that is known continues.
    tenant.clock.now += 400 * 86_400_000;
    await admitted(tenant, { minTokens: 0, wantTokens: 0 });
    assert.deepEqual(await counts(tenant), {
      [`8:${start}`]: '32,0',
      [`8:${next}`]: '0,10',
    });
  },

  'what a reap charged is used, and its correction counts the difference': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await setBudgets(tenant, {
      ofKey: [
        { id: 7, unit: 'money', amount: 1_000 },
        { id: 8, unit: 'requests', amount: 9 },
      ],
    });
    const rid = await admitted(tenant, { pricePerMillion: 1_500_000 });
    await checkpoint(tenant, rid, 41, 0);
    tenant.clock.now += 60_000;
    await reap(tenant, rid);
    assert.deepEqual(await counts(tenant), { '7:0': '62,0', '8:0': '1,0' });
    const [event] = await drain(tenant);
    assert.equal(JSON.parse(event?.payload ?? '').budgets, '7:0:1500000,8:0:0');
    await settled(tenant, rid, 11);
    assert.deepEqual(await counts(tenant), { '7:0': '17,0', '8:0': '1,0' });
  },

  'a hold grows by what its budgets have room for': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await setBudgets(tenant, {
      ofKey: [{ id: 7, unit: 'money', amount: 400 }],
      ofAccount: [{ id: 8, unit: 'requests', amount: 1 }],
    });
    const rid = await admitted(tenant, { pricePerMillion: 3_000_000 });
    assert.deepEqual(await checkpoint(tenant, rid, 50, 20), {
      ...{ kind: 'ok', heldTokens: 120, extendedTokens: 20, isRechargeDue: false },
    });
    assert.deepEqual(await checkpoint(tenant, rid, 50, 20), {
      ...{ kind: 'ok', heldTokens: 133, extendedTokens: 13, isRechargeDue: false },
    });
    assert.deepEqual(await counts(tenant), { '7:0': '0,399', '8:0': '0,1' });
    assert.equal((await funds(tenant))?.held, 133, 'the balance is held for what the budgets left');
    // A lowered budget counts at once; one that was removed bounds nothing.
    await setBudgets(tenant, { ofKey: [{ id: 7, unit: 'money', amount: 10 }] });
    assert.equal(await extendedBy(tenant, rid), 0);
    assert.equal((await funds(tenant))?.held, 133);
    await setBudgets(tenant, {});
    assert.equal(await extendedBy(tenant, rid), 20);
    assert.deepEqual(await counts(tenant), { '7:0': '0,459', '8:0': '0,1' });
    await settled(tenant, rid, 153);
    assert.deepEqual(await counts(tenant), { '7:0': '459,0', '8:0': '1,0' });
  },

  'a hold grows within what was granted in its own period': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const start = Math.floor(tenant.clock.now / 1_000);
    const starts = [start, start + 30];
    const granted = { [start]: 15, [start + 30]: 900 };
    await setBudgets(tenant, { ofKey: [{ id: 7, amount: 100, starts, adjusted: granted }] });
    const rid = await admitted(tenant);
    tenant.clock.now += 31_000;
    assert.equal(await extendedBy(tenant, rid), 15);
    assert.deepEqual(await counts(tenant), { [`7:${start}`]: '0,115' });
  },

  'a hold that was lost is held again in its budgets, once, and settled without a trace it is used':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      await setBudgets(tenant, { ofKey: [{ id: 7, amount: 500 }] });
      const claims = '7:0:1000000';
      const lost = tenant.rid();
      const { accountId } = tenant;
      const hold = {
        ...{ rid: lost, accountId, modelId: MODEL_ID, epoch: 'e1', generation: 1 },
        ...{ subscriptionId: SUBSCRIPTION_ID, keyId: KEY_ID, priceVersionId: 2, claims },
        ...{ node: 'node-1:0', wantTokens: 60, usedTokens: 5, leaseMs: 60_000 },
      };
      for (let turn = 0; turn < 2; turn += 1)
        assert.equal((await tenant.store.restore(hold)).kind, 'restored');
      assert.deepEqual(await counts(tenant), { '7:0': '0,60' });
      await settled(tenant, lost, 9, { claims });
      await settled(tenant, tenant.rid(), 4, { claims });
      assert.deepEqual(await counts(tenant), { '7:0': '13,0' });
    },

  'what budgets hold is recounted from the open holds': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await setBudgets(tenant, { ofKey: [{ id: 7, amount: 500 }] });
    await admitted(tenant);
    const key = keys.budgets(tenant.shard, tenant.accountId);
    await tenant.redis.hset(key, { '7:0': '3,70', '9:5': '1,2' });
    const { library, epochCache: epochs } = tenant;
    const live = new LiveCounts({ library, epochs, shards: SHARDS });
    const { accountId } = tenant;
    assert.deepEqual((await live.recountHolds([{ accountId, modelId: OTHER_MODEL_ID }])).budgets, [
      { accountId, budgetId: 7, before: 70, held: 100 },
      { accountId, budgetId: 9, before: 2, held: 0 },
    ]);
    assert.deepEqual(await counts(tenant), { '7:0': '3,100', '9:5': '1,0' });
    assert.deepEqual((await live.recountHolds([{ accountId, modelId: MODEL_ID }])).budgets, []);
  },

  'a lost shard counts from what the ledger has used, and what is counted stays': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const used = (name: string, units: number) => ({ name, value: '', used: units, ends: 0 });
    await tenant.live.budgets.fill(tenant.accountId, [used('7:0', 40), used('8:100', 1)]);
    await tenant.live.budgets.fill(tenant.accountId, [used('7:0', 99)]);
    assert.deepEqual(await counts(tenant), { '7:0': '40,0', '8:100': '1,0' });
    await tenant.live.budgets.forget(tenant.accountId, ['8:100']);
    assert.deepEqual(await counts(tenant), { '7:0': '40,0' });
    await tenant.live.budgets.discard(tenant.accountId);
    assert.deepEqual(await counts(tenant), {});
  },

  'what is used is raised to what is booked, never lowered, and not in a fenced shard': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const { library, epochCache: epochs, accountId } = tenant;
    const live = new LiveCounts({ library, epochs, shards: SHARDS });
    const raise = (used: number) => live.raiseBudget({ accountId, name: '7:0', value: '', used });
    await tenant.redis.hset(keys.budgets(tenant.shard, accountId), '7:0', '30,5');
    assert.deepEqual([await raise(30), await raise(29)], [null, null]);
    assert.deepEqual(await counts(tenant), { '7:0': '30,5' });
    assert.equal(await raise(31), 30);
    assert.deepEqual(await counts(tenant), { '7:0': '31,5' });
    await tenant.epochs.clear(tenant.shard);
    assert.equal(await raise(99), null);
    assert.deepEqual(await counts(tenant), { '7:0': '31,5' });
  },

  'units are what the books compute, for any rate and count': async (world) => {
    const tenant = await world.tenant();
    const tokens = 3_000_007;
    await openAccount(tenant, { tokens: 100_000_000 });
    for (const [id, pricePerMillion] of [1, 7, 999_999, 1_000_001, 75_000_000].entries()) {
      const money = { id: id + 1, unit: 'money', amount: 2 ** 50 } as const;
      await setBudgets(tenant, { ofKey: [money] });
      const rid = await admitted(tenant, { pricePerMillion, wantTokens: tokens });
      await settled(tenant, rid, tokens - id);
      const used = claimUnits({ rate: pricePerMillion, base: null }, tokens - id);
      assert.equal((await counts(tenant))[`${id + 1}:0`], `${used},0`);
    }
  },
};
