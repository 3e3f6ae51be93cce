import assert from 'node:assert/strict';
import { KeyWindows, type AdmitRequest, type WindowFill } from '../src/index.ts';
import { keys } from '../src/keys.ts';
import { refuses, refOf } from './tenant-acts.ts';
import { admitted, contents, MODEL_ID, openAccount, putKey, request, SHARDS } from './world.ts';
import { type Checks, type Tenant } from './world.ts';

const MINUTE = 60_000;
const prompt = (tokens: number): Partial<AdmitRequest> => ({
  promptTokens: tokens,
  promptTokensMax: tokens,
});

async function used(tenant: Tenant, window: 'tpm' | 'tph', of: 'key' | 'account' = 'key') {
  const { redis, accountId, keyHash, clock } = tenant;
  const fills = new KeyWindows({ redis, shards: SHARDS, now: () => clock.now });
  const who = of === 'key' ? { accountId, keyHash } : { accountId };
  const [fill] = await fills.read(who, [{ window, models: '' }]);
  return (fill as WindowFill).used;
}

const settle = (tenant: Tenant, rid: string, all: number, uncached = all) =>
  tenant.store.settle({
    ...refOf(tenant, rid),
    ...{ chargeTokens: 1, payload: '{}', reEmit: false, ratedTokens: { all, uncached } },
  });

const checkpoint = (tenant: Tenant, rid: string, outputTokens: number) =>
  tenant.store.checkpoint({
    ...refOf(tenant, rid),
    ...{
      keyHash: tenant.keyHash,
      node: 'node-1:0',
      usedTokens: 1,
      extendTokens: 0,
      leaseMs: MINUTE,
    },
    outputTokens,
  });

async function isKeptFor({ redis }: Tenant, key: string, atMostMs: number): Promise<boolean> {
  const leftMs = await redis.pttl(key);
  return leftMs > 0 && leftMs <= atMostMs;
}

export const rateChecks: Checks = {
  'tokens count at admission as estimated, as they are made, and at settlement as reported': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tpm: 1_000, tph: 5_000 });
    const rid = await admitted(tenant, prompt(100));
    assert.equal(await used(tenant, 'tpm'), 100);
    await checkpoint(tenant, rid, 40);
    await checkpoint(tenant, rid, 30);
    assert.equal(await used(tenant, 'tpm'), 140);
    tenant.clock.now += 10_000;
    await settle(tenant, rid, 400);
    assert.equal(await used(tenant, 'tpm'), 400);
    // The admission's part is forgotten a window after the admission, the settlement's a window after the settlement.
    tenant.clock.now += 50_000;
    assert.equal(await used(tenant, 'tpm'), 260);
    assert.equal(await used(tenant, 'tph'), 400);
  },

  'an answer that takes 90 s counts in the minute in which it is settled': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tpm: 500 });
    const rid = await admitted(tenant, prompt(100));
    tenant.clock.now += 90_000;
    await settle(tenant, rid, 600);
    assert.equal(await used(tenant, 'tpm'), 500);
    const reply = await tenant.store.admit(request(tenant, prompt(1)));
    assert.ok(reply.kind === 'rate_limited' && reply.rate.window === 'tpm');
    tenant.clock.now += reply.retryAfterMs - 1;
    await refuses(tenant, prompt(1), 'rate_limited');
    tenant.clock.now += 1;
    await admitted(tenant, prompt(1));
  },

  'what was estimated too high is taken back from the live buckets that counted it, never below 0':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant, { tpm: 1_000 });
      const [high, other] = [
        await admitted(tenant, prompt(300)),
        await admitted(tenant, prompt(50)),
      ];
      tenant.clock.now += 5_000;
      const late = await admitted(tenant, prompt(200));
      await settle(tenant, high, 120);
      assert.equal(await used(tenant, 'tpm'), 370);
      tenant.clock.now += 56_000;
      // Its bucket is gone: nothing is taken from those of others.
      await settle(tenant, other, 0);
      assert.equal(await used(tenant, 'tpm'), 200);
      await settle(tenant, late, 0);
      assert.equal(await used(tenant, 'tpm'), 0);
    },

  'a request is admitted while its window has any room, and may pass the limit by its own prompt':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant, { tpm: 100 });
      await admitted(tenant, prompt(99));
      await admitted(tenant, prompt(100));
      await refuses(tenant, prompt(1), 'rate_limited');
    },

  'a prompt above the whole limit of a rate, or of the key, is refused with the limit': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tpm: 100, max_input_tokens: 80 });
    const before = await contents(tenant);
    const reply = await tenant.store.admit(request(tenant, prompt(81)));
    assert.deepEqual(reply, { kind: 'input_too_long', limit: 80 });
    await putKey(tenant, { tpm: 70, revision: 1 });
    assert.deepEqual(await tenant.store.admit(request(tenant, prompt(71))), {
      kind: 'prompt_above_rate',
      rate: { window: 'tpm', owner: 'key', models: '' },
      limit: 70,
    });
    assert.notDeepEqual(await contents(tenant), before);
    await admitted(tenant, prompt(70));
  },

  'a rate of an account counts over its keys, a rate of some models those alone': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rate = { window: 'tpm', limit: 100, models: '', countsCacheReads: true } as const;
    const { accountId } = tenant;
    await tenant.live.putAccount({
      ...{ accountId, status: 'active', drain: false, revision: 2 },
      rates: [rate],
    });
    const few = { window: 'rpm', limit: 1, models: 'claude-*', countsCacheReads: true } as const;
    await putKey(tenant, { rates: [few], revision: 2 });
    await admitted(tenant, { ...prompt(60), modelName: 'claude-3' });
    const full = await tenant.store.admit(request(tenant, { ...prompt(1), modelName: 'claude-3' }));
    assert.ok(full.kind === 'rate_limited');
    assert.deepEqual(full.rate, { window: 'rpm', owner: 'key', models: 'claude-*' });
    await admitted(tenant, prompt(60));
    assert.equal(await used(tenant, 'tpm', 'account'), 120);
    const denied = await tenant.store.admit(request(tenant, prompt(1)));
    assert.ok(denied.kind === 'rate_limited' && denied.rate.owner === 'account');
    assert.deepEqual((await tenant.live.getAccount(accountId))?.rates, [rate]);
  },

  'a prompt may have the most tokens of its key, and a key without limits keeps to those of its account':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant, { max_input_tokens: 80 });
      await admitted(tenant, prompt(80));
      await putKey(tenant, { revision: 2 });
      const { accountId } = tenant;
      await tenant.live.putAccount({
        ...{ accountId, status: 'active', drain: false, revision: 2 },
        rates: [{ window: 'tpm', limit: 10, models: '', countsCacheReads: true }],
      });
      await admitted(tenant, prompt(10));
      await refuses(tenant, prompt(1), 'rate_limited');
    },

  'cached reads do not count where a rate leaves them out': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tpm: 1_000 });
    await putKey(tenant, { tpm: 1_000, countsCacheReads: false, revision: 2 });
    await settle(tenant, await admitted(tenant, prompt(100)), 500, 150);
    assert.equal(await used(tenant, 'tpm'), 150);
  },

  'no more requests of a key run than it may, until one ends or its lease is over': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { concurrency: 2, max_output_tokens: 9 });
    const first = await admitted(tenant);
    const reply = await tenant.store.admit(request(tenant));
    assert.ok(reply.kind === 'admitted' && reply.outputTokensMax === 9);
    assert.deepEqual(await tenant.store.admit(request(tenant)), {
      kind: 'concurrency_exceeded',
      limit: 2,
    });
    await settle(tenant, first, 1);
    await admitted(tenant);
    await refuses(tenant, {}, 'concurrency_exceeded');
    tenant.clock.now += 2 * MINUTE;
    await admitted(tenant);
  },

  'a renewed request keeps its place among those that run, a lost one leaves it with its lease':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant, { concurrency: 1 });
      const running = keys.running(tenant.shard, tenant.keyHash);
      const rid = await admitted(tenant);
      assert.ok(await isKeptFor(tenant, running, MINUTE));
      tenant.clock.now += 40_000;
      await tenant.redis.persist(running);
      await checkpoint(tenant, rid, 0);
      assert.ok(await isKeptFor(tenant, running, MINUTE));
      tenant.clock.now += 40_000;
      await refuses(tenant, {}, 'concurrency_exceeded');
      tenant.clock.now += 20_000;
      await admitted(tenant);
    },

  'a key whose requests may run at will has no list of them': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tpm: 100 });
    const rid = await admitted(tenant, prompt(1));
    await checkpoint(tenant, rid, 2);
    assert.equal(await used(tenant, 'tpm'), 3);
    assert.deepEqual(await tenant.redis.exists(keys.running(tenant.shard, tenant.keyHash), ''), 0);
  },

  'a request that another model answers counts no second time as a request, but its tokens do':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant, { rpm: 1, tpm: 100 });
      await admitted(tenant, prompt(10));
      const other = await tenant.store.admit(request(tenant, { ...prompt(20), isCounted: false }));
      assert.ok(other.kind === 'admitted');
      assert.deepEqual(
        other.windows.map(({ window }) => window),
        ['tpm'],
      );
      assert.equal(await used(tenant, 'tpm'), 30);
      await refuses(tenant, prompt(1), 'rate_limited');
    },

  'a limit that was removed leaves no windows, and what another program wrote stops no settlement':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant, { tpm: 1_000 });
      const rid = await admitted(tenant, prompt(10));
      const name = keys.windows(tenant.shard, tenant.keyHash);
      await putKey(tenant, { revision: 2 });
      assert.equal(await tenant.redis.exists(name), 0);
      await tenant.redis.set(name, 'another');
      assert.equal((await settle(tenant, rid, 50)).kind, 'settled');
      await tenant.redis.del(name);
      assert.equal(
        (await tenant.live.getBalances([{ accountId: tenant.accountId, modelId: MODEL_ID }]))[0]
          ?.held,
        0,
      );
    },
};
