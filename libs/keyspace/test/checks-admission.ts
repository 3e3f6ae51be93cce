import assert from 'node:assert/strict';
import { addressHex, normaliseAllowlist, type AdmitRequest } from '../src/index.ts';
import { keys } from '../src/keys.ts';
import { admitted, books, contents, credit, hashOf, KEY_ID, MODEL_ID, openAccount, OTHER_MODEL_ID, putKey, putSubscription, request, SUBSCRIPTION_ID, type Checks, type Tenant } from './world.ts';

export const admissionChecks: Checks = {
  'an admission answers what it granted, what is left and where every limit stands': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { rpm: 2, rpd: 10 });
    const reply = await tenant.store.admit(request(tenant));
    assert.deepEqual(reply, {
      ...{ kind: 'admitted', grantedTokens: 100, availableTokens: 900, keyId: KEY_ID, subscriptionId: SUBSCRIPTION_ID, generation: 1, epoch: 'e1' },
      windows: [
        { window: 'rpm', limit: 2, remaining: 1, resetMs: resetMs(tenant, 1_000) },
        { window: 'rpd', limit: 10, remaining: 9, resetMs: resetMs(tenant, 1_440_000) },
      ],
    });
  },

  'a refusal changes nothing, and the first reason in order is the one given': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 150, rpm: 1 });
    await admitted(tenant);
    // Every reason is present at once; each step takes the first away and shows the next.
    await putKey(tenant, { status: 'disabled', expiresAtMs: tenant.clock.now, allowlist: listed('10.0.0.0/8'), allowedModels: 'other', rpm: 1, revision: 2 });
    await tenant.live.putAccount({ accountId: tenant.accountId, status: 'frozen', drain: false, revision: 2 });
    await putSubscription(tenant, { status: 'closing', revision: 2 });
    const asked = { concurrencyMax: 1, addressHex: addressHex('11.0.0.1') };
    await refuses(tenant, asked, 'key_disabled');
    await putKey(tenant, { expiresAtMs: tenant.clock.now, allowlist: listed('10.0.0.0/8'), allowedModels: 'other', rpm: 1, revision: 3 });
    await refuses(tenant, asked, 'key_expired');
    await putKey(tenant, { expiresAtMs: tenant.clock.now + 1, allowlist: listed('10.0.0.0/8'), allowedModels: 'other', rpm: 1, revision: 4 });
    await refuses(tenant, asked, 'address_not_allowed');
    await putKey(tenant, { allowedModels: 'other', rpm: 1, revision: 5 });
    await refuses(tenant, asked, 'account_not_active');
    await tenant.live.putAccount({ accountId: tenant.accountId, status: 'active', drain: false, revision: 3 });
    await refuses(tenant, asked, 'model_not_allowed');
    await putKey(tenant, { allowedModels: 'gpt*', rpm: 1, revision: 6 });
    await refuses(tenant, asked, 'subscription_closing');
    await putSubscription(tenant, { status: 'closed', revision: 3 });
    await refuses(tenant, asked, 'not_subscribed');
    await putSubscription(tenant, { generation: 2, revision: 4 });
    await refuses(tenant, asked, 'concurrency_exceeded');
    await refuses(tenant, { ...asked, concurrencyMax: 2 }, 'rate_limited');
    await putKey(tenant, { allowedModels: 'gpt*', revision: 7 });
    await refuses(tenant, { ...asked, concurrencyMax: 2, minTokens: 51 }, 'tokens_held');
    await refuses(tenant, { ...asked, concurrencyMax: 2, wantTokens: 900, minTokens: 151 }, 'balance_too_low');
    await admitted(tenant, { ...asked, concurrencyMax: 2, minTokens: 50 });
  },

  'a key that was never issued, was deleted or belongs to another account is unknown': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await refuses(tenant, { keyHash: hashOf(1_000_000) }, 'key_unknown');
    await refuses(tenant, { accountId: tenant.otherAccountId }, 'key_unknown');
    await putKey(tenant, { status: 'deleted', revision: 2 });
    await refuses(tenant, {}, 'key_unknown');
  },

  'a key lets in until the millisecond of its expiry': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await putKey(tenant, { expiresAtMs: tenant.clock.now + 1_000, revision: 2 });
    tenant.clock.now += 999;
    await admitted(tenant);
    tenant.clock.now += 1;
    await refuses(tenant, {}, 'key_expired');
  },

  'an account that Redis has never heard of is not active': async (world) => {
    const tenant = await world.tenant();
    await putKey(tenant);
    assert.deepEqual(await tenant.store.admit(request(tenant)), { kind: 'account_not_active', status: 'unknown' });
  },

  'a key with an allow-list refuses an address that is not known': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await putKey(tenant, { allowlist: listed('0.0.0.0/0, ::/0'), revision: 2 });
    await refuses(tenant, { addressHex: '' }, 'address_not_allowed');
    await admitted(tenant, { addressHex: addressHex('8.8.8.8') });
  },

  'an address is compared to the bit': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 1_000_000 });
    const cases = [
      ['10.0.0.0/9', '10.127.255.255', '10.128.0.0'],
      ['10.0.0.1', '10.0.0.1', '10.0.0.0'],
      ['192.168.4.0/22', '192.168.7.255', '192.168.8.0'],
      ['2001:db8::/29', '2001:dbf::1', '2001:dc0::1'],
      ['2001:db8::/32', '2001:db8:ffff::', '2001:db9::'],
      ['1.1.1.1,2.2.2.0/25,3.3.3.3', '2.2.2.127', '2.2.2.128'],
    ] as const;
    for (const [index, [list, inside, outside]] of cases.entries()) {
      await putKey(tenant, { allowlist: listed(list), revision: 10 + index });
      await admitted(tenant, { addressHex: addressHex(inside) });
      await refuses(tenant, { addressHex: addressHex(outside) }, 'address_not_allowed');
    }
  },

  'allowed_models takes names and stars, spaces trimmed, and nothing else is special': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 1_000_000 });
    const cases = [
      ...[['', 'x', true], ['*', 'x', true], ['  ', 'x', true], [',', 'x', false], ['gpt-4', 'gpt-4', true], ['gpt-4', 'gpt-4o', false], ['gpt-4*', 'gpt-4', true]],
      ...[['*-4', 'gpt-4', true], ['*-4', 'gpt-4o', false], ['g*4', 'gpt-4', true], ['g*4*4', 'gpt-4', false], ['*p*t*', 'gpt-4', true], ['*t*p*', 'gpt-4', false]],
      ...[['a , gpt-4 ,b', 'gpt-4', true], ['gpt.4', 'gpt-4', false], ['gpt%-4', 'gpt-4', false], ['[g]pt-4', 'gpt-4', false], ['gp**4', 'gpt-4', true], ['gpt-4*gpt-4', 'gpt-4', false]],
      ...[['aa*aa', 'aaa', false], ['aa*aa', 'aaaa', true], ['*ab*', 'aab', true], ['a*b*c', 'abxbc', true], ['**', '', true]],
    ] as const;
    for (const [index, [allowedModels, modelName, isAllowed]] of cases.entries()) {
      await putKey(tenant, { allowedModels: allowedModels as string, revision: 10 + index });
      const reply = await tenant.store.admit(request(tenant, { modelName: modelName as string }));
      assert.equal(reply.kind, isAllowed ? 'admitted' : 'model_not_allowed', `${String(allowedModels)} against ${String(modelName)}`);
    }
  },

  '100 kB of model globs are judged in under 50 ms (S35)': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const name = 'a'.repeat(255);
    const cases = [`${'*a'.repeat(50_000)}b`, 'a*,'.repeat(33_000).replaceAll('a*', 'b*'), '*'.repeat(100_000).concat('b'), ' '.repeat(100_000).concat('b'), `${'*aab'.repeat(25_000)}`];
    for (const [index, allowedModels] of cases.entries()) {
      await putKey(tenant, { allowedModels, revision: 10 + index });
      const startedMs = performance.now();
      assert.equal((await tenant.store.admit(request(tenant, { modelName: name }))).kind, 'model_not_allowed');
      assert.ok(performance.now() - startedMs < 50, `case ${index}: ${performance.now() - startedMs} ms`);
    }
  },

  'the same rid is admitted once, and asking again answers the same hold': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await admitted(tenant, { wantTokens: 70 });
    const before = await contents(tenant);
    const again = await tenant.store.admit(request(tenant, { rid, wantTokens: 500 }));
    assert.deepEqual(again, { kind: 'duplicate', state: 'open', grantedTokens: 70, keyId: KEY_ID, subscriptionId: SUBSCRIPTION_ID, generation: 1, epoch: 'e1' });
    assert.deepEqual(await contents(tenant), before);
  },

  'a hold is lowered to what is there, down to the minimum': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 130 });
    await admitted(tenant);
    const reply = await tenant.store.admit(request(tenant, { minTokens: 30 }));
    assert.ok(reply.kind === 'admitted' && reply.grantedTokens === 30 && reply.availableTokens === 0);
    assert.deepEqual(await tenant.store.admit(request(tenant, { minTokens: 1 })), { kind: 'tokens_held', balance: 130, held: 130 });
    assert.deepEqual(await tenant.store.admit(request(tenant, { wantTokens: 200, minTokens: 131 })), { kind: 'balance_too_low', balance: 130, subscriptionId: SUBSCRIPTION_ID });
  },

  'a model that costs nothing needs no balance': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 0 });
    await admitted(tenant, { wantTokens: 0, minTokens: 0 });
    assert.deepEqual(await books(tenant), { balance: 0, held: 0, running: 1, status: 'active' });
  },

  'another model of the same account is another subscription': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await refuses(tenant, { modelId: OTHER_MODEL_ID }, 'not_subscribed');
  },

  'amounts that are not whole numbers from zero up are refused and change nothing': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { rpm: 5 });
    const { shard, accountId, keyHash, library } = tenant;
    const rid = tenant.rid();
    const functionKeys = [keys.epoch(shard), keys.key(shard, keyHash), keys.account(shard, accountId), keys.subscription(shard, accountId, MODEL_ID), keys.hold(shard, rid), keys.holds(shard), keys.windows(shard, keyHash)];
    const good = ['e1', rid, accountId, MODEL_ID, 'gpt-4', 2, 100, 10, '', 0, 60_000, 'node-1:0', tenant.clock.now];
    const before = await contents(tenant);
    for (const position of [6, 7, 9, 10]) {
      for (const bad of ['-1', '1.5', '1e3', 'nan', 'inf', '', ' 1', '0x10', '9007199254740992', '99999999999999999']) {
        await assert.rejects(library.call('admit', functionKeys, good.with(position, bad)), /invalid admit/);
      }
    }
    await assert.rejects(library.call('admit', functionKeys, good.with(7, 101)), /invalid admit/, 'the minimum is above the wish');
    assert.deepEqual(await contents(tenant), before);
    await library.call('admit', functionKeys, good.with(6, '9007199254740991'));
    assert.equal((await books(tenant))?.held, 1_000);
  },

  'a window without a limit is not tracked, and starts anew when it gets one': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { rpm: 5, rpd: 1 });
    await admitted(tenant);
    await putKey(tenant, { rpm: 5, revision: 2 });
    await admitted(tenant);
    assert.deepEqual(await tenant.redis.hkeys(keys.windows(tenant.shard, tenant.keyHash)), ['rpm']);
    await putKey(tenant, { rpm: 5, rpd: 1, revision: 3 });
    await admitted(tenant);
    await refuses(tenant, {}, 'rate_limited');
  },

  'a key without limits leaves no windows behind, and windows expire after twice the longest': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await admitted(tenant);
    const record = keys.windows(tenant.shard, tenant.keyHash);
    assert.equal(await tenant.redis.exists(record), 0);
    for (const [limits, windowMs] of [[{ rpm: 5 }, 60_000], [{ rpm: 5, rph: 5 }, 3_600_000], [{ rph: 9, rpd: 9 }, 86_400_000]] as const) {
      await putKey(tenant, { ...limits, revision: windowMs });
      await admitted(tenant);
      const ttl = await tenant.redis.pttl(record);
      assert.ok(ttl > 2 * windowMs - 60_000 && ttl <= 2 * windowMs, String(ttl));
    }
  },

  'a clock that goes back gives no request for free': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { rpm: 2 });
    await admitted(tenant);
    tenant.clock.now -= 30_000;
    await admitted(tenant);
    const reply = await tenant.store.admit(request(tenant));
    assert.ok(reply.kind === 'rate_limited');
    tenant.clock.now += reply.retryAfterMs - 1;
    await refuses(tenant, {}, 'rate_limited');
    tenant.clock.now += 1;
    await admitted(tenant);
  },

  'a shard without its epoch, or with another, is fenced for every call': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await admitted(tenant);
    const ref = { rid, accountId: tenant.accountId, modelId: MODEL_ID };
    await tenant.epochs.clear(tenant.shard);
    const before = await contents(tenant);
    const replies = [
      await tenant.store.checkpoint({ ...ref, keyHash: tenant.keyHash, usedTokens: 5, extendTokens: 5, leaseMs: 1 }),
      await tenant.store.settle({ ...ref, chargeTokens: 1, payload: '{}', reEmit: false }),
      await tenant.store.reap(ref),
      await tenant.store.admit(request(tenant)),
      await tenant.store.access({ accountId: tenant.accountId, keyHash: tenant.keyHash, addressHex: '' }),
      await tenant.store.credit({ ...ref, subscriptionId: SUBSCRIPTION_ID, seq: 2, deltaTokens: 5 }),
      await tenant.store.withdraw({ ...ref, subscriptionId: SUBSCRIPTION_ID, withdrawalId: tenant.rid(), drain: false }),
      await tenant.live.putAccount({ accountId: tenant.accountId, status: 'active', drain: false, revision: 9 }),
    ];
    assert.deepEqual(replies.map((reply) => reply.kind), replies.map(() => 'fenced'));
    assert.deepEqual(await contents(tenant), before);
  },

  'a new epoch is noticed by calls that rest on nothing older, and fences what was held under the old one': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const asked = request(tenant);
    const reply = await tenant.store.admit(asked);
    assert.ok(reply.kind === 'admitted');
    await tenant.epochs.set(tenant.shard, 'e2');
    const ref = { rid: asked.rid, accountId: tenant.accountId, modelId: MODEL_ID };
    const settlement = { ...ref, chargeTokens: 1, payload: '{}', reEmit: false };
    const checkpoint = { ...ref, keyHash: tenant.keyHash, usedTokens: 1, extendTokens: 0, leaseMs: 60_000 };
    assert.equal((await tenant.store.settle(settlement)).kind, 'fenced');
    assert.equal((await tenant.store.checkpoint(checkpoint)).kind, 'fenced');
    await credit(tenant, 2, 10);
    const later = await tenant.store.admit(request(tenant));
    assert.ok(later.kind === 'admitted' && later.epoch === 'e2');
    assert.equal((await tenant.store.settle({ ...settlement, epoch: reply.epoch })).kind, 'fenced');
    assert.equal((await tenant.store.checkpoint({ ...checkpoint, epoch: reply.epoch })).kind, 'fenced');
  },
};

function resetMs({ clock }: Tenant, bucketMs: number): number {
  return (Math.floor(clock.now / bucketMs) + 60) * bucketMs - clock.now;
}

function listed(text: string): string {
  return normaliseAllowlist(text);
}

/** Refused for this reason, and nothing in the shard has changed. */
async function refuses(tenant: Tenant, changes: Partial<AdmitRequest>, kind: string): Promise<void> {
  const before = await contents(tenant);
  const reply = await tenant.store.admit(request(tenant, changes));
  assert.equal(reply.kind, kind);
  assert.deepEqual(await contents(tenant), before, `${kind} changes nothing`);
}
