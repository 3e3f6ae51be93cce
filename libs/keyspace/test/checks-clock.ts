import assert from 'node:assert/strict';
import { keys } from '../src/keys.ts';
import { settle } from './tenant-acts.ts';
import { admitted, funds, drain, openAccount, type Checks } from './world.ts';

export const clockChecks: Checks = {
  'a clock that was ahead for a moment lets nothing be debited twice': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await admitted(tenant);
    await settle(tenant, rid, 60);
    tenant.clock.now += 86_400_000;
    await drain(tenant);
    // Redis treats a marker so by a clock that is a day ahead.
    await tenant.redis.del(keys.hold(tenant.shard, rid));
    tenant.clock.now -= 86_400_000;
    assert.deepEqual(await settle(tenant, rid, 60), { kind: 'fenced', by: 'age' });
    assert.equal((await funds(tenant))?.balance, 940);
    const running = await admitted(tenant);
    assert.equal((await settle(tenant, running, 1)).kind, 'settled');
  },

  'what is settled while the clock is behind is remembered until after it is right again': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await drain(tenant);
    tenant.clock.now -= 86_400_000;
    const settled = await admitted(tenant);
    await settle(tenant, settled, 1);
    const ttlMs = await tenant.redis.pttl(keys.hold(tenant.shard, settled));
    assert.ok(Math.abs(ttlMs - 86_400_000 - 900_000) < 10_000, String(ttlMs));
  },

  'a settlement that its node still asks for is not forgotten': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await admitted(tenant);
    await settle(tenant, rid, 60);
    const marker = keys.hold(tenant.shard, rid);
    await tenant.redis.pexpire(marker, 20_000);
    await settle(tenant, rid, 60);
    assert.ok((await tenant.redis.pttl(marker)) <= 20_000);
    await settle(tenant, rid, 60, { reEmit: true });
    assert.ok((await tenant.redis.pttl(marker)) > 890_000);
  },
};
