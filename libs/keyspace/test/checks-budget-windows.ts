import assert from 'node:assert/strict';
import { scopeValue } from '../src/index.ts';
import { keys } from '../src/keys.ts';
import {
  ask,
  counts,
  extendedBy,
  reap,
  setBudgets,
  settled,
  type Budget,
} from './budgets-of-tenant.ts';
import { admitted, openAccount, type Checks, type Tenant } from './world.ts';

const BUCKET_S = 5;
const WINDOW_S = 60 * BUCKET_S;
const rolling = (changes: Partial<Budget> = {}): Budget => ({
  ...{ id: 7, amount: 300, bucket: BUCKET_S, ...changes },
});

/** Sets the clock to the beginning of a bucket, which it returns. */
function atBucket({ clock }: Tenant): number {
  const start = Math.ceil(clock.now / 1_000 / BUCKET_S) * BUCKET_S;
  clock.now = start * 1_000;
  return start;
}

async function used(tenant: Tenant, tokens: number, atS: number): Promise<void> {
  tenant.clock.now = atS * 1_000;
  await settled(tenant, await admitted(tenant, { wantTokens: tokens }), tokens);
}

export const budgetWindowChecks: Checks = {
  'a rolling budget counts each request in the bucket of its admission, and all of its window':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const start = atBucket(tenant);
      await setBudgets(tenant, { ofKey: [rolling()] });
      await used(tenant, 100, start + 4);
      await used(tenant, 60, start + 5);
      const rid = await admitted(tenant, { wantTokens: 90 });
      tenant.clock.now = (start + WINDOW_S - 1) * 1_000;
      assert.deepEqual(await counts(tenant), {
        ...{ [`7:${start}`]: '100,0', [`7:${start + 5}`]: '60,90' },
      });
      const reply = await ask(tenant, { wantTokens: 80 });
      assert.equal(reply.kind === 'admitted' && reply.grantedTokens, 50);
      assert.equal((await ask(tenant)).kind, 'tokens_held');
      await settled(tenant, rid, 7);
      assert.equal((await counts(tenant))[`7:${start + 5}`], '67,0');
    },

  'a request that does not fit is refused until enough buckets have left the window': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const start = atBucket(tenant);
    await setBudgets(tenant, { ofKey: [rolling()] });
    await used(tenant, 20, start);
    await used(tenant, 30, start + 12);
    await used(tenant, 245, start + 60);
    const asked = { minTokens: 40 };
    const refused = await ask(tenant, asked);
    assert.deepEqual(refused, {
      ...{ kind: 'budget_exceeded', leftTokens: 5, budgetId: 7, unit: 'charged_tokens' },
      ...{ limit: 300, used: 295, held: 0, scope: null, fallsBack: false },
      endsAtMs: (start + 10 + WINDOW_S) * 1_000,
    });
    tenant.clock.now = (start + 10 + WINDOW_S) * 1_000 - 1;
    const early = await ask(tenant, asked);
    assert.equal(early.kind === 'budget_exceeded' && early.used, 275);
    tenant.clock.now += 1;
    const reply = await ask(tenant, asked);
    assert.equal(reply.kind === 'admitted' && reply.grantedTokens, 55);
    // A request of more than the amount fits in no window: the answer is when all of it has left.
    const never = await ask(tenant, { minTokens: 301, wantTokens: 301 });
    assert.equal(
      never.kind === 'budget_exceeded' && never.endsAtMs,
      (start + 10 + 2 * WINDOW_S) * 1_000,
    );
  },

  'a reset begins again within a bucket, and what is granted counts as long as its bucket': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const start = atBucket(tenant);
    await setBudgets(tenant, { ofKey: [rolling({ adjusted: { [start]: 40 } })] });
    await used(tenant, 340, start);
    assert.equal((await ask(tenant)).kind, 'budget_exceeded');
    const since = start + 2;
    tenant.clock.now = since * 1_000;
    await setBudgets(tenant, {
      ofKey: [rolling({ starts: [since], adjusted: { [start]: 40, [since]: 5 } })],
    });
    await used(tenant, 305, since + 1);
    assert.deepEqual(await counts(tenant), {
      ...{ [`7:${start}`]: '340,0', [`7:${since}`]: '305,0' },
    });
    tenant.clock.now = (start + 7) * 1_000;
    assert.equal((await ask(tenant)).kind, 'budget_exceeded');
    tenant.clock.now = (start + WINDOW_S) * 1_000 - 1;
    assert.equal((await ask(tenant)).kind, 'budget_exceeded');
    tenant.clock.now += 1;
    const reply = await ask(tenant, { wantTokens: 500 });
    assert.equal(reply.kind === 'admitted' && reply.grantedTokens, 300);
  },

  'a reset at the beginning of a bucket counts that bucket': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const start = atBucket(tenant);
    await setBudgets(tenant, { ofKey: [rolling({ starts: [start] })] });
    await used(tenant, 250, start + 1);
    tenant.clock.now = (start + 6) * 1_000;
    const reply = await ask(tenant);
    assert.equal(reply.kind === 'admitted' && reply.grantedTokens, 50);
    tenant.clock.now = (start + WINDOW_S - 1) * 1_000;
    assert.equal((await ask(tenant)).kind, 'tokens_held');
  },

  'a hold grows within its window, and its own bucket counts when that has left': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const start = atBucket(tenant);
    await setBudgets(tenant, { ofKey: [rolling({ amount: 175 })] });
    const rid = await admitted(tenant, { leaseMs: 900_000 });
    await used(tenant, 60, start + 5);
    assert.equal(await extendedBy(tenant, rid), 15);
    assert.equal(await extendedBy(tenant, rid), 0);
    tenant.clock.now = (start + WINDOW_S) * 1_000;
    assert.equal(await extendedBy(tenant, rid), 0);
    tenant.clock.now = (start + WINDOW_S + 5) * 1_000;
    assert.equal(await extendedBy(tenant, rid), 20);
    assert.deepEqual(await counts(tenant), {
      ...{ [`7:${start}`]: '0,135', [`7:${start + 5}`]: '60,0' },
    });
  },

  'a bucket that has left is forgotten when the next one is opened, once nothing runs of it':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const start = atBucket(tenant);
      await setBudgets(tenant, { ofAccount: [rolling({ amount: 900 })] });
      await used(tenant, 10, start);
      const rid = await admitted(tenant, { leaseMs: 400_000 });
      await used(tenant, 20, start + 5);
      await used(tenant, 30, start + 2 * WINDOW_S - 5);
      const left = { [`7:${start}`]: '10,100', [`7:${start + 2 * WINDOW_S - 5}`]: '30,0' };
      assert.deepEqual(await counts(tenant), left);
      tenant.clock.now += 200_000;
      await reap(tenant, rid);
      await tenant.live.budgets.forgetBefore(tenant.accountId, 7, start + WINDOW_S);
      assert.deepEqual(Object.keys(await counts(tenant)), [`7:${start + 2 * WINDOW_S - 5}`]);
    },

  'each session has a window of its own, which is kept until it has passed': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const start = atBucket(tenant);
    await setBudgets(tenant, { ofKey: [rolling({ each: 's' })] });
    const loop = { scopes: { session: 'loop' } };
    const value = scopeValue(tenant.accountId, 'session', 'loop');
    await settled(tenant, await admitted(tenant, loop), 100);
    tenant.clock.now = (start + 20) * 1_000;
    await settled(tenant, await admitted(tenant, { ...loop, wantTokens: 190 }), 190);
    assert.deepEqual(await counts(tenant, value), {
      ...{ [`7:${start}`]: '100,0', [`7:${start + 20}`]: '190,0' },
    });
    const refused = await ask(tenant, { ...loop, minTokens: 20 });
    assert.equal(
      refused.kind === 'budget_exceeded' && refused.endsAtMs,
      (start + WINDOW_S) * 1_000,
    );
    assert.equal((await ask(tenant, { scopes: { session: 'calm' } })).kind, 'admitted');
    const place = keys.budgetsOfValue(tenant.shard, tenant.accountId, value);
    const keptMs = await tenant.redis.pttl(place);
    assert.ok(keptMs > (WINDOW_S + 86_400) * 1_000 && keptMs <= (WINDOW_S + 2 * 86_400) * 1_000);
    tenant.clock.now = (start + WINDOW_S + 5) * 1_000;
    await settled(tenant, await admitted(tenant, loop), 1);
    assert.deepEqual(Object.keys(await counts(tenant, value)), [
      ...[`7:${start + 20}`, `7:${start + WINDOW_S + 5}`],
    ]);
  },
};
