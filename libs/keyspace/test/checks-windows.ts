import assert from 'node:assert/strict';
import { keys } from '../src/keys.ts';
import { refuses } from './tenant-acts.ts';
import { admitted, contents, openAccount, putKey, request, type Checks } from './world.ts';

export const windowChecks: Checks = {
  'inquiries have a window of their own: as many as the rpm, or a given number if that is more':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant, { rpm: 3 });
      const inquire = (limitAtLeast: number) =>
        tenant.store.inquire({
          accountId: tenant.accountId,
          keyHash: tenant.keyHash,
          addressHex: '',
          limitAtLeast,
          limitWithoutRpm: 4,
        });
      const startedMs = tenant.clock.now;
      const allowed = { kind: 'allowed', keyId: 5, allowedModels: '', subscribedModelIds: [3] };
      for (let nth = 0; nth < 5; nth += 1) assert.deepEqual(await inquire(5), allowed);
      const before = await contents(tenant);
      const full = await inquire(5);
      assert.ok(full.kind === 'rate_limited' && full.windows[0]?.limit === 5);
      assert.equal((await inquire(2)).kind, 'rate_limited');
      assert.deepEqual(await contents(tenant), before);
      for (let nth = 0; nth < 3; nth += 1) await admitted(tenant);
      await refuses(tenant, {}, 'rate_limited');
      tenant.clock.now = startedMs + full.retryAfterMs;
      assert.deepEqual(await inquire(5), allowed);
      await putKey(tenant, { rpm: 0, revision: 2 });
      for (let nth = 1; nth < 4; nth += 1) assert.deepEqual(await inquire(1), allowed);
      const without = await inquire(1);
      assert.ok(without.kind === 'rate_limited' && without.windows[0]?.limit === 4);
      await putKey(tenant, { status: 'disabled', revision: 3 });
      assert.equal((await inquire(5)).kind, 'key_disabled');
    },

  'a window without a limit is not tracked, and restarts when it gets one': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { rpm: 5, rpd: 1 });
    await admitted(tenant);
    await putKey(tenant, { rpm: 5, revision: 2 });
    await admitted(tenant);
    await putKey(tenant, { rpm: 5, rpd: 1, revision: 3 });
    await admitted(tenant);
    await refuses(tenant, {}, 'rate_limited');
  },

  'a limit that was lowered is back when enough of what was spent has expired': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { rpm: 6 });
    const startedMs = tenant.clock.now;
    for (const spent of [1, 2, 1, 2]) {
      for (let nth = 0; nth < spent; nth += 1) await admitted(tenant);
      tenant.clock.now += 5_000;
    }
    await putKey(tenant, { rpm: 3, revision: 2 });
    const reply = await tenant.store.admit(request(tenant));
    const retryAfterMs = startedMs + 10_000 + 60_000 - tenant.clock.now;
    assert.deepEqual(reply, {
      kind: 'rate_limited',
      rate: { window: 'rpm', owner: 'key', models: '' },
      retryAfterMs,
      windows: [
        {
          window: 'rpm',
          owner: 'key',
          models: '',
          limit: 3,
          remaining: 0,
          resetMs: retryAfterMs + 5_000,
        },
      ],
    });
    tenant.clock.now += retryAfterMs - 1;
    await refuses(tenant, {}, 'rate_limited');
    tenant.clock.now += 1;
    await admitted(tenant);
    await refuses(tenant, {}, 'rate_limited');
  },

  'a key without limits leaves no windows behind, and windows expire after twice the longest':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      await admitted(tenant);
      const record = keys.windows(tenant.shard, tenant.keyHash);
      assert.equal(await tenant.redis.exists(record), 0);
      for (const [limits, windowMs] of [
        [{ rpm: 5 }, 60_000],
        [{ rpm: 5, rph: 5 }, 3_600_000],
        [{ rph: 9, rpd: 9 }, 86_400_000],
      ] as const) {
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

  'a clock that was a window ahead or more and is set right denies no key until that time: it costs one extra window':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant, { rpm: 2, rpd: 100 });
      tenant.clock.now += 86_400_000;
      await admitted(tenant);
      await admitted(tenant);
      await refuses(tenant, {}, 'rate_limited');
      tenant.clock.now -= 86_400_000 - 59_000;
      await admitted(tenant);
      await admitted(tenant);
      const reply = await tenant.store.admit(request(tenant));
      assert.ok(reply.kind === 'rate_limited' && reply.retryAfterMs <= 60_000);
      tenant.clock.now += reply.retryAfterMs;
      await admitted(tenant);
    },
};
