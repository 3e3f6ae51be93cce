import assert from 'node:assert/strict';
import { claimUnits, readClaims, usedUnits } from '@tollgate/contracts';
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
  contents,
  drain,
  KEY_ID,
  MODEL_ID,
  openAccount,
  request,
  SUBSCRIPTION_ID,
  type Checks,
} from './world.ts';

/** Sizes a prompt of 40 tokens at most, and five charged tokens for each token of output. */
const PLAIN = { plainTokens: { rate: 200_000, base: 40 } };
const CLAIM = '7:0:200000+40';

export const plainBudgetChecks: Checks = {
  'a request holds the tokens that it may report, and uses those that it reports': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await setBudgets(tenant, { ofKey: [{ id: 7, unit: 'tokens', amount: 500 }] });
    const reply = await ask(tenant, PLAIN);
    assert.equal(reply.kind === 'admitted' && reply.claims, CLAIM);
    const rid = await admitted(tenant, { ...PLAIN, wantTokens: 101 });
    assert.deepEqual(await counts(tenant), { '7:0': '0,121' });
    await settled(tenant, rid, 90, { reported: 33 });
    assert.deepEqual(await counts(tenant), { '7:0': '33,60' });
    await settled(tenant, tenant.rid(), 5, { claims: CLAIM, reported: 7 });
    assert.deepEqual(await counts(tenant), { '7:0': '40,60' });
  },

  'a grant is what the budget has room for, and less than is needed is refused': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await setBudgets(tenant, { ofKey: [{ id: 7, unit: 'tokens', amount: 52 }] });
    const asked = request(tenant, PLAIN);
    const reply = await tenant.store.admit(asked);
    assert.equal(reply.kind === 'admitted' && reply.grantedTokens, 60);
    assert.deepEqual(await counts(tenant), { '7:0': '0,52' });
    assert.equal(await extendedBy(tenant, asked.rid), 0);
    await settled(tenant, asked.rid, 60, { reported: 11 });
    const before = await contents(tenant);
    assert.deepEqual(await ask(tenant, { ...PLAIN, minTokens: 6 }), {
      ...{ kind: 'budget_exceeded', leftTokens: 5, budgetId: 7, unit: 'tokens', limit: 52 },
      ...{ used: 11, held: 0, endsAtMs: null, scope: null, fallsBack: false },
    });
    await setBudgets(tenant, { ofKey: [{ id: 7, unit: 'tokens', amount: 50 }] });
    const none = await ask(tenant, { ...PLAIN, minTokens: 0 });
    assert.equal(none.kind === 'budget_exceeded' && none.leftTokens, 0);
    await setBudgets(tenant, { ofKey: [{ id: 7, unit: 'tokens', amount: 52 }] });
    assert.equal(Object.keys(await contents(tenant)).length, Object.keys(before).length);
    assert.equal((await ask(tenant, { ...PLAIN, minTokens: 5 })).kind, 'admitted');
  },

  'a hold grows by the output that the budget has room for': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await setBudgets(tenant, { ofKey: [{ id: 7, unit: 'tokens', amount: 62 }] });
    const rid = await admitted(tenant, PLAIN);
    assert.equal(await extendedBy(tenant, rid), 10);
    assert.deepEqual(await counts(tenant), { '7:0': '0,62' });
  },

  'where output is free, the whole answer is held and a grant is not bounded': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await setBudgets(tenant, { ofKey: [{ id: 7, unit: 'tokens', amount: 300 }] });
    const free = { plainTokens: { rate: 0, base: 250 } };
    const reply = await ask(tenant, free);
    assert.equal(reply.kind === 'admitted' && reply.grantedTokens, 100);
    assert.equal(reply.kind === 'admitted' && reply.claims, '7:0:0+250');
    assert.deepEqual(await counts(tenant), { '7:0': '0,250' });
    assert.equal((await ask(tenant, free)).kind, 'tokens_held');
  },

  'a reap uses what could be held for its charge, nothing of nothing, and its final what it reports':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      await setBudgets(tenant, { ofKey: [{ id: 7, unit: 'tokens', amount: 500 }] });
      const [rid, unused] = [await admitted(tenant, PLAIN), await admitted(tenant, PLAIN)];
      await checkpoint(tenant, rid, 41, 0);
      tenant.clock.now += 60_000;
      await reap(tenant, rid);
      assert.deepEqual(await counts(tenant), { '7:0': '49,60' });
      const [event] = await drain(tenant);
      assert.equal(JSON.parse(event?.payload ?? '').budgets, CLAIM);
      const [claim] = readClaims(CLAIM);
      assert.ok(claim);
      assert.deepEqual(
        [usedUnits(claim, 41, null), usedUnits(claim, 0, null), claimUnits(claim, 0)],
        [49, 0, 40],
      );
      await reap(tenant, unused);
      assert.deepEqual(await counts(tenant), { '7:0': '49,0' });
      await settled(tenant, rid, 11, { reported: 12 });
      await settled(tenant, unused, 3, { reported: 2 });
      assert.deepEqual(await counts(tenant), { '7:0': '14,0' });
    },

  'a hold that was lost is held again as it was': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const { accountId } = tenant;
    const restored = await tenant.store.restore({
      ...{ rid: tenant.rid(), accountId, modelId: MODEL_ID, epoch: 'e1', generation: 1 },
      ...{ subscriptionId: SUBSCRIPTION_ID, keyId: KEY_ID, priceVersionId: 2, claims: CLAIM },
      ...{ node: 'node-1:0', wantTokens: 60, usedTokens: 5, leaseMs: 60_000 },
    });
    assert.equal(restored.kind, 'restored');
    assert.deepEqual(await counts(tenant), { '7:0': '0,52' });
  },

  'tokens are not counted for a node that does not name them': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await setBudgets(tenant, { ofKey: [{ id: 7, unit: 'tokens', amount: 500 }] });
    assert.equal((await ask(tenant)).kind, 'fenced');
    await setBudgets(tenant, { ofKey: [{ id: 7, unit: 'charged_tokens', amount: 500 }] });
    assert.equal((await ask(tenant)).kind, 'admitted');
  },
};
