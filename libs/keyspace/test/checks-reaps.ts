import assert from 'node:assert/strict';
import { alterHold } from '@tollgate/harness';
import { keys } from '../src/keys.ts';
import { ReapedRequests } from '../src/reaped-requests.ts';
import { reapedAt, settle, withdraw } from './tenant-acts.ts';
import { admitted, contents, drain, openAccount, SUBSCRIPTION_ID } from './world.ts';
import type { Checks, Tenant } from './world.ts';

/** Checks the charges of reaps, whose events the control plane alone emits again. */
export const reapChecks: Checks = {
  'a reaped request is listed, with its charge, until it is known to be booked': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const reaped = open(tenant);
    const [first, second] = [await reapedAt(tenant, 40), await reapedAt(tenant, 7)];
    await settle(tenant, await admitted(tenant), 5);
    assert.deepEqual(await reaped.waiting(tenant.shard), [first, second]);
    const events = await drain(tenant);
    const wanted = [first, second].map((rid) => {
      const { delta, payload } = events.find((event) => event.rid === rid) ?? {};
      return { rid, delta, payload };
    });
    assert.deepEqual(await reaped.unbooked(tenant.shard), wanted);
    await reaped.settled(tenant.shard, [first]);
    assert.deepEqual(await reaped.waiting(tenant.shard), [second]);
  },

  'the charge of a reap leaves again as it left first, and moves no token': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await reapedAt(tenant, 40);
    const [left] = await drain(tenant);
    const { [keys.outbox(tenant.shard)]: _before, ...before } = await contents(tenant);
    assert.deepEqual(await open(tenant).repeat(tenant.shard, rid), {
      kind: 'sent',
      subscriptionId: SUBSCRIPTION_ID,
      chargedTokens: 40,
    });
    const { [keys.outbox(tenant.shard)]: _after, ...after } = await contents(tenant);
    assert.deepEqual(after, before);
    const [again, ...more] = await drain(tenant);
    assert.deepEqual(again, left);
    assert.deepEqual(more, []);
  },

  'with it leaves what the reap released into a withdrawal': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await admitted(tenant);
    await withdraw(tenant, tenant.rid());
    tenant.clock.now += 60_000;
    await tenant.store.reap({ rid, accountId: tenant.accountId, modelId: 3 });
    const left = (await drain(tenant)).filter((event) => event.rid === rid);
    assert.deepEqual(
      left.map(({ seq }) => seq),
      ['0', '2'],
    );
    await open(tenant).repeat(tenant.shard, rid);
    const again = await drain(tenant);
    assert.deepEqual(
      again.map(({ seq, delta, payload }) => ({ seq, delta, payload })),
      left.map(({ seq, delta, payload }) => ({ seq, delta, payload })),
    );
  },

  'a reap that its node has corrected leaves again alone; what was never reaped does not': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const corrected = await reapedAt(tenant, 40);
    await settle(tenant, corrected, 90);
    const settled = await admitted(tenant);
    await settle(tenant, settled, 5);
    const running = await admitted(tenant);
    await drain(tenant);
    const reaped = open(tenant);
    assert.equal((await reaped.repeat(tenant.shard, corrected)).kind, 'sent');
    for (const rid of [settled, running, tenant.rid()])
      assert.deepEqual(await reaped.repeat(tenant.shard, rid), { kind: 'not_found' });
    const events = await drain(tenant);
    assert.deepEqual(
      events.map(({ rid, seq, delta }) => ({ rid, seq, delta })),
      [{ rid: corrected, seq: '0', delta: '40' }],
    );
    assert.deepEqual(
      (await reaped.unbooked(tenant.shard)).map(({ rid, delta }) => ({ rid, delta })),
      [{ rid: corrected, delta: '40' }],
    );
    // An entry that another program wrote into the list is no reap, or no request at all.
    await tenant.redis.zadd(keys.reaped(tenant.shard), 1, settled, 1, 'no request');
    assert.deepEqual(await reaped.waiting(tenant.shard), [settled, corrected]);
    assert.equal((await reaped.unbooked(tenant.shard)).length, 1);
  },

  'what another program wrote under the name of a reaped hold is no charge, and hides no other':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const { redis, shard } = tenant;
      const rid = await reapedAt(tenant, 40);
      await drain(tenant);
      const real = (await redis.getBuffer(keys.hold(shard, rid))) ?? '';
      const foreign = [tenant.rid()];
      await redis.set(keys.hold(shard, foreign[0] ?? ''), 'of another');
      const numbers = ['c0', 'acct', 'key', 'sub', 'model', 'price'];
      const changes = [
        ...[...numbers, 'node'].map((field) => ({ [field]: null })),
        ...numbers.map((field) => ({ [field]: 'no number' })),
      ];
      for (const change of changes) {
        const strange = tenant.rid();
        foreign.push(strange);
        await redis.set(keys.hold(shard, strange), real);
        await alterHold(redis, keys.hold(shard, strange), change);
      }
      for (const strange of foreign) {
        await redis.zadd(keys.reaped(shard), 0, strange);
        assert.deepEqual(await open(tenant).repeat(shard, strange), { kind: 'not_found' });
      }
      assert.deepEqual(await drain(tenant), []);
      const unbooked = await open(tenant).unbooked(shard);
      assert.deepEqual(
        unbooked.map(({ rid: found, delta }) => [found, delta]),
        [[rid, '40']],
      );
    },

  'a shard without its epoch sends no charge again, and still says what it charged': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await reapedAt(tenant, 40);
    await drain(tenant);
    await tenant.epochs.clear(tenant.shard);
    assert.deepEqual(await open(tenant).repeat(tenant.shard, rid), { kind: 'fenced' });
    assert.equal((await open(tenant).unbooked(tenant.shard)).length, 1);
    assert.deepEqual(await drain(tenant), []);
  },

  'the list of reaps lives as long as their markers': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await reapedAt(tenant, 1);
    const ttl = await tenant.redis.pttl(keys.reaped(tenant.shard));
    assert.ok(Math.abs(ttl - 86_400_000) < 10_000);
  },
};

function open({ redis, library, epochCache: epochs }: Tenant): ReapedRequests {
  return new ReapedRequests({ redis, library, epochs });
}
