import assert from 'node:assert/strict';
import { LiveCounts, scopeValue, SCOPE_VALUES_MAX } from '../src/index.ts';
import { keys } from '../src/keys.ts';
import { ask, checkpoint, counts, reap, setBudgets, settled } from './budgets-of-tenant.ts';
import {
  admitted,
  contents,
  MODEL_ID,
  openAccount,
  SHARDS,
  type Checks,
  type Tenant,
} from './world.ts';

const session = ({ accountId }: Tenant, name: string): string =>
  scopeValue(accountId, 'session', name);
const listOf = ({ shard, accountId }: Tenant): string => keys.budgetValues(shard, accountId, 's');
const DAY_S = 86_400;

/** Returns the starts of a day that has begun, and of the next one. */
function dayOf(tenant: Tenant): number[] {
  const start = Math.floor(tenant.clock.now / 1_000);
  return [start, start + DAY_S];
}

export const scopeChecks: Checks = {
  'each session has the whole budget, and one that loops is stopped alone': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const starts = dayOf(tenant);
    await setBudgets(tenant, {
      ofKey: [{ id: 7, unit: 'requests', amount: 2, each: 's', starts }],
      ofAccount: [{ id: 8, amount: 150, each: 's', starts }],
    });
    const loop = { scopes: { session: 'loop' } };
    const rid = await admitted(tenant, loop);
    const value = session(tenant, 'loop');
    const [start] = starts;
    assert.deepEqual(await counts(tenant, value), {
      [`7:${start}`]: '0,1',
      [`8:${start}`]: '0,100',
    });
    await settled(tenant, rid, 30);
    const second = await ask(tenant, loop);
    assert.equal(
      second.kind === 'admitted' && second.claims,
      `7:${start}:0:${value},8:${start}:1000000:${value}`,
    );
    await settled(tenant, await admitted(tenant, { scopes: { session: 'calm' } }), 20);
    const before = await contents(tenant);
    const refused = await ask(tenant, loop);
    assert.equal(refused.kind, 'tokens_held');
    assert.deepEqual(await contents(tenant), before);
    assert.deepEqual(await counts(tenant, session(tenant, 'calm')), {
      ...{ [`7:${start}`]: '1,0', [`8:${start}`]: '20,0' },
    });
    assert.deepEqual(await counts(tenant), {});
  },

  'a used up session is refused with what it has used, and when it starts again': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const starts = dayOf(tenant);
    await setBudgets(tenant, { ofKey: [{ id: 7, amount: 100, each: 's', starts }] });
    const loop = { scopes: { session: 'loop' } };
    await settled(tenant, await admitted(tenant, loop), 100);
    assert.deepEqual(await ask(tenant, loop), {
      ...{ kind: 'budget_exceeded', leftTokens: 0, budgetId: 7, unit: 'charged_tokens' },
      ...{
        limit: 100,
        used: 100,
        held: 0,
        endsAtMs: (starts[1] ?? 0) * 1_000,
        scope: 'session',
        fallsBack: false,
      },
    });
    tenant.clock.now += DAY_S * 1_000;
    const next = await ask(tenant, loop);
    assert.equal(next.kind, 'admitted');
    // The use of the day before is forgotten with the session's first request of this one.
    assert.deepEqual(await counts(tenant, session(tenant, 'loop')), {
      [`7:${starts[1]}`]: '0,100',
    });
  },

  'a request that names no session counts with all others that name none, or is refused': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await setBudgets(tenant, { ofKey: [{ id: 7, unit: 'requests', amount: 1, each: 's' }] });
    await settled(tenant, await admitted(tenant), 5);
    assert.deepEqual(await counts(tenant, 's-'), { '7:0': '1,0' });
    assert.equal((await ask(tenant)).kind, 'budget_exceeded');
    assert.equal((await ask(tenant, { scopes: { end_user: 'ann' } })).kind, 'budget_exceeded');
    assert.equal((await ask(tenant, { scopes: { session: 'named' } })).kind, 'admitted');
    await setBudgets(tenant, {
      ofKey: [{ id: 9, amount: 1_000, each: 'u', isRequired: true }],
    });
    const before = await contents(tenant);
    const missing = { kind: 'value_required', budgetId: 9, scope: 'end_user' };
    assert.deepEqual(await ask(tenant, { scopes: { session: 'named' } }), missing);
    assert.deepEqual(await contents(tenant), before);
    assert.equal((await ask(tenant, { scopes: { end_user: 'ann' } })).kind, 'admitted');
  },

  'beyond the maximum new sessions share one count, and known ones keep theirs': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await setBudgets(tenant, { ofKey: [{ id: 7, unit: 'requests', amount: 3, each: 's' }] });
    const known = { scopes: { session: 'known' } };
    await settled(tenant, await admitted(tenant, known), 1);
    const till = tenant.clock.now + 60_000;
    const others = Array.from({ length: SCOPE_VALUES_MAX - 1 }, (_, nth) => [till, `s${nth}`]);
    await tenant.redis.zadd(listOf(tenant), ...others.flat());
    for (const name of ['a', 'b'])
      await settled(tenant, await admitted(tenant, { scopes: { session: name } }), 1);
    assert.deepEqual(await counts(tenant, 's+'), { '7:0': '2,0' });
    await settled(tenant, await admitted(tenant, known), 1);
    assert.deepEqual(await counts(tenant, session(tenant, 'known')), { '7:0': '2,0' });
    // Values whose time is over make room.
    tenant.clock.now = till + 1;
    await settled(tenant, await admitted(tenant, { scopes: { session: 'c' } }), 1);
    assert.deepEqual(await counts(tenant, session(tenant, 'c')), { '7:0': '1,0' });
    assert.equal(await tenant.redis.zcard(listOf(tenant)), 3);
  },

  'nothing of a session is kept for good, whatever ends its requests': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const starts = dayOf(tenant);
    await setBudgets(tenant, { ofKey: [{ id: 7, amount: 500, each: 's', starts }] });
    const value = session(tenant, 'loop');
    const place = keys.budgetsOfValue(tenant.shard, tenant.accountId, value);
    const rid = await admitted(tenant, { scopes: { session: 'loop' } });
    const kept = await tenant.redis.pttl(place);
    assert.ok(kept > DAY_S * 1_000 && kept < 4 * DAY_S * 1_000, String(kept));
    const grown = await checkpoint(tenant, rid, 50, 20);
    assert.equal(grown.kind === 'ok' && grown.extendedTokens, 20);
    await tenant.redis.del(place, listOf(tenant));
    tenant.clock.now += 61_000;
    assert.equal((await reap(tenant, rid)).kind, 'reaped');
    assert.deepEqual(await counts(tenant, value), { [`7:${starts[0]}`]: '50,-120' });
    assert.ok((await tenant.redis.pttl(place)) > 0);
    await settled(tenant, rid, 80);
    assert.deepEqual(await counts(tenant, value), { [`7:${starts[0]}`]: '80,-120' });
    const { library, epochCache: epochs, accountId } = tenant;
    const live = new LiveCounts({ library, epochs, shards: SHARDS });
    const { budgets } = await live.recountHolds([{ accountId, modelId: MODEL_ID }]);
    assert.deepEqual(budgets, [{ accountId, budgetId: 7, before: -120, held: 0 }]);
    const name = `7:${starts[0]}`;
    assert.equal(await live.raiseBudget({ accountId, name, value, used: 90 }), 80);
    assert.deepEqual(await counts(tenant, value), { [name]: '90,0' });
  },

  'a lost shard counts each session from the ledger, and forgets all of them when it is emptied':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const value = session(tenant, 'loop');
      const ends = Math.floor(Date.now() / 1_000) + DAY_S;
      await tenant.live.budgets.fill(tenant.accountId, [
        { name: '7:0', value, used: 40, ends },
        { name: '8:0', value: '', used: 9, ends: 0 },
      ]);
      assert.deepEqual(await counts(tenant, value), { '7:0': '40,0' });
      assert.deepEqual(await counts(tenant), { '8:0': '9,0' });
      assert.ok(Number(await tenant.redis.zscore(listOf(tenant), value)) > ends * 1_000);
      await tenant.live.budgets.discard(tenant.accountId);
      assert.deepEqual([await counts(tenant, value), await counts(tenant)], [{}, {}]);
      assert.equal(await tenant.redis.exists(listOf(tenant)), 0);
    },
};
