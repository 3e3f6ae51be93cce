import assert from 'node:assert/strict';
import { ask, counts, extendedBy, setBudgets, settled } from './budgets-of-tenant.ts';
import { admitted, contents, openAccount, request, type Checks } from './world.ts';

export const budgetChecks: Checks = {
  'a request holds its grant in each budget, and its charge is used of each': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await setBudgets(tenant, {
      ofKey: [{ id: 7, amount: 500 }],
      ofAccount: [
        { id: 8, unit: 'requests', amount: 3 },
        { id: 9, unit: 'money', amount: 1_000 },
      ],
    });
    const asked = request(tenant, { pricePerMillion: 2_500_000 });
    const reply = await tenant.store.admit(asked);
    assert.equal(reply.kind, 'admitted');
    assert.equal(reply.claims, '7:0:1000000,8:0:0,9:0:2500000');
    assert.deepEqual(await counts(tenant), { '7:0': '0,100', '8:0': '0,1', '9:0': '0,250' });
    const again = await tenant.store.admit(asked);
    assert.equal(again.kind === 'duplicate' && again.claims, reply.claims);
    assert.equal((await settled(tenant, asked.rid, 33)).kind, 'settled');
    assert.deepEqual(await counts(tenant), { '7:0': '33,0', '8:0': '1,0', '9:0': '83,0' });
    await settled(tenant, asked.rid, 33);
    assert.deepEqual(await counts(tenant), { '7:0': '33,0', '8:0': '1,0', '9:0': '83,0' });
  },

  'a grant is the least of the balance and all budgets': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 90 });
    await setBudgets(tenant, {
      ofKey: [{ id: 7, amount: 80 }],
      ofAccount: [{ id: 9, unit: 'money', amount: 131 }],
    });
    const reply = await ask(tenant, { pricePerMillion: 2_000_000 });
    assert.equal(reply.kind === 'admitted' && reply.grantedTokens, 65);
    assert.equal(reply.kind === 'admitted' && reply.availableTokens, 0);
    assert.deepEqual(await counts(tenant), { '7:0': '0,65', '9:0': '0,130' });
    await setBudgets(tenant, { ofKey: [{ id: 7, amount: 1_000 }] });
    const half = await ask(tenant, { leavesHalf: true });
    assert.equal(half.kind === 'admitted' && half.grantedTokens, 12);
  },

  'what is used up is refused with the budget, and changes nothing; what others hold may come back':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const start = Math.floor(tenant.clock.now / 1_000);
      await setBudgets(tenant, {
        ofAccount: [{ id: 8, amount: 100, starts: [start, start + 60] }],
      });
      const rid = await admitted(tenant, { wantTokens: 95 });
      const before = await contents(tenant);
      assert.deepEqual(await ask(tenant), {
        ...{ kind: 'tokens_held', balance: 100, held: 95, dueTokens: 0 },
      });
      assert.deepEqual(await contents(tenant), before);
      await settled(tenant, rid, 95);
      assert.deepEqual(await ask(tenant), {
        ...{ kind: 'budget_exceeded', leftTokens: 5, budgetId: 8, unit: 'charged_tokens' },
        ...{
          limit: 100,
          used: 95,
          held: 0,
          endsAtMs: (start + 60) * 1_000,
          scope: null,
          fallsBack: false,
        },
      });
      const fits = await ask(tenant, { minTokens: 5 });
      assert.equal(fits.kind === 'admitted' && fits.grantedTokens, 5);
    },

  'a budget of requests counts each once, a retry under another model not again': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await setBudgets(tenant, { ofKey: [{ id: 7, unit: 'requests', amount: 2 }] });
    await settled(tenant, await admitted(tenant), 0);
    const running = await admitted(tenant);
    assert.equal((await ask(tenant)).kind, 'tokens_held');
    const other = await ask(tenant, { isCounted: false });
    assert.equal(other.kind === 'admitted' && other.claims, '');
    await settled(tenant, running, 3);
    assert.deepEqual(await counts(tenant), { '7:0': '2,0' });
    const refused = await ask(tenant);
    assert.equal(refused.kind === 'budget_exceeded' && refused.endsAtMs, null);
  },

  'a budget of some models applies to no others, and one that notifies only counts': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await setBudgets(tenant, {
      ofKey: [{ id: 7, amount: 0, models: 'claude-*, o1' }],
      ofAccount: [{ id: 8, amount: 20, action: 'notify' }],
    });
    const rid = await admitted(tenant);
    assert.deepEqual(await counts(tenant), { '8:0': '0,100' });
    await settled(tenant, rid, 70);
    assert.deepEqual(await counts(tenant), { '8:0': '70,0' });
    const refused = await ask(tenant, { modelName: 'claude-x' });
    assert.equal(refused.kind === 'budget_exceeded' && refused.budgetId, 7);
  },

  'a budget that falls back bounds as one that refuses, and says so': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await setBudgets(tenant, { ofKey: [{ id: 7, amount: 110, action: 'fallback' }] });
    const rid = await admitted(tenant);
    assert.equal(await extendedBy(tenant, rid), 10);
    assert.equal((await ask(tenant)).kind, 'tokens_held');
    await settled(tenant, rid, 110);
    const refused = await ask(tenant);
    assert.equal(refused.kind === 'budget_exceeded' && refused.fallsBack, true);
  },

  'money without a known price is not admitted, and a free model costs none': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await setBudgets(tenant, { ofKey: [{ id: 7, unit: 'money', amount: 0 }] });
    assert.equal((await ask(tenant)).kind, 'fenced');
    const free = await ask(tenant, { pricePerMillion: 0 });
    assert.equal(free.kind === 'admitted' && free.claims, '');
  },
};
