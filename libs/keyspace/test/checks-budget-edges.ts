import assert from 'node:assert/strict';
import { scopeValue, SCOPE_VALUES_MAX } from '../src/index.ts';
import { keys } from '../src/keys.ts';
import { ask, counts, extendedBy, setBudgets, settled, type Budget } from './budgets-of-tenant.ts';
import { admitted, openAccount, type Checks, type Tenant } from './world.ts';

const BUCKET_S = 5;
const WINDOW_S = 60 * BUCKET_S;
const DAY_MS = 24 * 60 * 60_000;
const VALUES_KEPT_DAYS = 94;
const loop = { scopes: { session: 'loop' } };

const session = ({ accountId }: Tenant, name: string): string =>
  scopeValue(accountId, 'session', name);
const listOf = ({ shard, accountId }: Tenant): string => keys.budgetValues(shard, accountId, 's');
const placeOf = (tenant: Tenant, name: string): string =>
  keys.budgetsOfValue(tenant.shard, tenant.accountId, session(tenant, name));

/** Opens an account with a rolling budget of its key, whose clock is at the beginning of the bucket that is returned. */
async function inWindow(tenant: Tenant, budget: Partial<Budget>): Promise<number> {
  await openAccount(tenant);
  const start = Math.ceil(tenant.clock.now / 1_000 / BUCKET_S) * BUCKET_S;
  tenant.clock.now = start * 1_000;
  await setBudgets(tenant, { ofKey: [{ id: 7, amount: 300, bucket: BUCKET_S, ...budget }] });
  return start;
}

async function used(tenant: Tenant, tokens: number, asked = {}): Promise<void> {
  await settled(tenant, await admitted(tenant, { wantTokens: tokens, ...asked }), tokens);
}

/** Checks cases at an edge of budgets, each of which a broken function once passed. */
export const budgetEdgeChecks: Checks = {
  'a period begins at its very second, and ends when the next one does': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const start = Math.floor(tenant.clock.now / 1_000);
    const starts = [start, start + 30, start + 90];
    await setBudgets(tenant, { ofKey: [{ id: 7, amount: 100, starts }] });
    for (const [index, from] of starts.entries()) {
      tenant.clock.now = from * 1_000;
      await used(tenant, 100);
      assert.equal((await counts(tenant))[`7:${from}`], '100,0');
      const refused = await ask(tenant);
      const next = starts[index + 1];
      assert.equal(
        refused.kind === 'budget_exceeded' && refused.endsAtMs,
        next === undefined ? null : next * 1_000,
      );
    }
  },

  'a request fits when exactly as much as it needs has left the window': async (world) => {
    const tenant = await world.tenant();
    const start = await inWindow(tenant, {});
    await used(tenant, 55);
    tenant.clock.now += 60_000;
    await used(tenant, 245);
    const refused = await ask(tenant, { minTokens: 55 });
    assert.equal(
      refused.kind === 'budget_exceeded' && refused.endsAtMs,
      (start + WINDOW_S) * 1_000,
    );
    const more = await ask(tenant, { minTokens: 56 });
    assert.equal(more.kind === 'budget_exceeded' && more.endsAtMs, (start + 60 + WINDOW_S) * 1_000);
  },

  'what was used and granted since a reset leaves with the bucket of the reset': async (world) => {
    const tenant = await world.tenant();
    const start = await inWindow(tenant, {});
    const since = start + 2;
    tenant.clock.now = since * 1_000;
    const reset = { id: 7, amount: 300, bucket: BUCKET_S, starts: [since] };
    await setBudgets(tenant, { ofKey: [{ ...reset, adjusted: { [since]: 5 } }] });
    await used(tenant, 305);
    tenant.clock.now = (start + 7) * 1_000;
    const refused = await ask(tenant);
    assert.ok(refused.kind === 'budget_exceeded');
    assert.deepEqual([refused.limit, refused.endsAtMs], [305, (start + WINDOW_S) * 1_000]);
  },

  'a bucket is forgotten as soon as it has left, and not in its last seconds': async (world) => {
    const tenant = await world.tenant();
    const start = await inWindow(tenant, {});
    await used(tenant, 10);
    tenant.clock.now = (start + WINDOW_S - 1) * 1_000;
    await used(tenant, 20);
    const last = start + WINDOW_S - BUCKET_S;
    assert.deepEqual(Object.keys(await counts(tenant)), [`7:${start}`, `7:${last}`]);
    tenant.clock.now += 1_000;
    await used(tenant, 30);
    assert.deepEqual(Object.keys(await counts(tenant)), [`7:${last}`, `7:${start + WINDOW_S}`]);
  },

  'the oldest bucket of a session counts until it leaves': async (world) => {
    const tenant = await world.tenant();
    const start = await inWindow(tenant, { each: 's' });
    await used(tenant, 10, loop);
    tenant.clock.now = (start + WINDOW_S - 1) * 1_000;
    await used(tenant, 20, loop);
    assert.equal((await counts(tenant, session(tenant, 'loop')))[`7:${start}`], '10,0');
  },

  'a hold grows by what requests in other buckets do not hold': async (world) => {
    const tenant = await world.tenant();
    await inWindow(tenant, { amount: 250 });
    const rid = await admitted(tenant, { leaseMs: 900_000 });
    tenant.clock.now += BUCKET_S * 1_000;
    await admitted(tenant, { leaseMs: 900_000, wantTokens: 140 });
    assert.equal(await extendedBy(tenant, rid), 10);
  },

  'a budget that only notifies bounds no growth': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await setBudgets(tenant, { ofKey: [{ id: 7, amount: 20, action: 'notify' }] });
    assert.equal(await extendedBy(tenant, await admitted(tenant)), 20);
  },

  'a budget of more units than a million tokens cost has room for millions of tokens': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 100_000_000 });
    await setBudgets(tenant, { ofKey: [{ id: 7, unit: 'money', amount: 250 }] });
    const reply = await ask(tenant, { pricePerMillion: 100, wantTokens: 9_000_000 });
    assert.equal(reply.kind === 'admitted' && reply.grantedTokens, 2_500_000);
  },

  'a session whose time is over this very millisecond is a new one': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await setBudgets(tenant, { ofKey: [{ id: 7, unit: 'requests', amount: 3, each: 's' }] });
    const till = tenant.clock.now + 60_000;
    const others = Array.from({ length: SCOPE_VALUES_MAX }, (_, nth) => [till, `s${nth}`]);
    const list = [tenant.clock.now, session(tenant, 'loop'), ...others.flat()];
    await tenant.redis.zadd(listOf(tenant), ...list);
    await used(tenant, 10, loop);
    assert.deepEqual(await counts(tenant, 's+'), { '7:0': '1,0' });
  },

  'the list of sessions is kept for 94 days, and ended periods are forgotten wherever they stand':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const start = Math.floor(tenant.clock.now / 1_000);
      const starts = [start, start + 30];
      await setBudgets(tenant, { ofKey: [{ id: 7, amount: 100, each: 's', starts }] });
      const others = { '91:0': '0,0', '92:0': '0,0', '93:0': '0,0' };
      await tenant.redis.hset(placeOf(tenant, 'loop'), others);
      await used(tenant, 10, loop);
      const keptMs = await tenant.redis.pttl(listOf(tenant));
      assert.ok(keptMs > (VALUES_KEPT_DAYS - 1) * DAY_MS && keptMs <= VALUES_KEPT_DAYS * DAY_MS);
      tenant.clock.now += 30_000;
      await used(tenant, 20, loop);
      assert.deepEqual(await counts(tenant, session(tenant, 'loop')), {
        ...others,
        [`7:${start + 30}`]: '20,0',
      });
    },

  'what another program wrote in the place of a session keeps no request from being settled':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      await setBudgets(tenant, { ofKey: [{ id: 7, amount: 500, each: 's' }] });
      const rid = await admitted(tenant, loop);
      await tenant.redis.set(placeOf(tenant, 'loop'), 'another');
      assert.equal((await settled(tenant, rid, 20)).kind, 'settled');
      assert.deepEqual(await counts(tenant, session(tenant, 'loop')), { '7:0': '20,-100' });
    },
};
