import assert from 'node:assert/strict';
import { readHold } from '@tollgate/harness';
import { keys } from '../src/keys.ts';
import { refOf, settle, checkpoint, reapedAt } from './tenant-acts.ts';
import {
  admitted,
  funds,
  contents,
  MODEL_ID,
  openAccount,
  putKey,
  putSubscription,
  type Checks,
} from './world.ts';

export const checkpointChecks: Checks = {
  'a checkpoint that is given less than it asks says whether auto-recharge is due to buy more':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant, { tokens: 250 });
      const rid = await admitted(tenant);
      const extend = async (extendTokens: number) => {
        const reply = await checkpoint(tenant, rid, { extendTokens });
        return reply.kind === 'ok' && [reply.extendedTokens, reply.isRechargeDue];
      };
      assert.deepEqual(await extend(50), [50, false]);
      await putSubscription(tenant, {
        autoRecharge: { threshold: 0, amount: 10 },
        revision: 2,
      });
      assert.deepEqual(await extend(50), [50, false], 'all it asks for is there');
      assert.deepEqual(await extend(60), [50, true]);
      assert.deepEqual(await extend(60), [0, true]);
      assert.deepEqual(await extend(0), [0, false]);
      await putSubscription(tenant, { revision: 3 });
      assert.deepEqual(await extend(60), [0, false], 'not armed any more');
    },

  'a checkpoint renews the lease and extends the hold by what fits': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 250 });
    const rid = await admitted(tenant, { leaseMs: 1_000 });
    assert.deepEqual(await checkpoint(tenant, rid, { extendTokens: 100 }), {
      kind: 'ok',
      heldTokens: 200,
      extendedTokens: 100,
      isRechargeDue: false,
    });
    assert.deepEqual(await checkpoint(tenant, rid, { extendTokens: 100 }), {
      kind: 'ok',
      heldTokens: 250,
      extendedTokens: 50,
      isRechargeDue: false,
    });
    assert.deepEqual(await checkpoint(tenant, rid, { extendTokens: 100 }), {
      kind: 'ok',
      heldTokens: 250,
      extendedTokens: 0,
      isRechargeDue: false,
    });
    assert.deepEqual(await funds(tenant), {
      balance: 250,
      held: 250,
      running: 1,
      status: 'active',
    });
    tenant.clock.now += 59_999;
    assert.equal((await tenant.store.reap(refOf(tenant, rid))).kind, 'alive');
    await settle(tenant, rid, 250);
    assert.deepEqual(await checkpoint(tenant, rid, {}), { kind: 'gone', state: 'done' });
    assert.deepEqual(await checkpoint(tenant, tenant.rid(), {}), { kind: 'gone', state: 'none' });
    const reaped = await reapedAt(tenant, 0, { wantTokens: 0, minTokens: 0 });
    assert.deepEqual(await checkpoint(tenant, reaped, {}), { kind: 'gone', state: 'reaped' });
  },

  'a checkpoint with amounts that are not whole numbers from zero up is refused and changes nothing':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const rid = await admitted(tenant);
      const { shard, accountId, keyHash, library } = tenant;
      const functionKeys = [
        keys.epoch(shard),
        keys.key(shard, keyHash),
        keys.account(shard, accountId),
        keys.subscription(shard, accountId, MODEL_ID),
        keys.hold(shard, rid),
        keys.holds(shard),
      ];
      const good = ['e1', rid, accountId, MODEL_ID, 5, 5, 60_000, tenant.clock.now, '', 'n:0', 5];
      const before = await contents(tenant);
      for (const position of [4, 5, 6, 10])
        await assert.rejects(
          library.call('checkpoint', functionKeys, good.with(position, '-1')),
          /invalid checkpoint/,
        );
      assert.deepEqual(await contents(tenant), before);
    },

  'a stream is stopped once its key, account or subscription no longer allows it, unless that one drains':
    async (world) => {
      const tenant = await world.tenant();
      const { live, accountId } = tenant;
      await openAccount(tenant);
      const rid = await admitted(tenant);
      let revision = 1;
      const nextRevision = (): number => (revision += 1);
      const expectReply = async (kind: string, what: string): Promise<void> =>
        assert.equal((await checkpoint(tenant, rid, { extendTokens: 1 })).kind, kind, what);
      for (const status of ['disabled', 'deleted'] as const) {
        await putKey(tenant, { status, revision: nextRevision() });
        await expectReply('stop', `key ${status}`);
        await putKey(tenant, { status, drain: true, revision: nextRevision() });
        await expectReply('ok', `key ${status}, draining`);
      }
      await putKey(tenant, { expiresAtMs: tenant.clock.now, revision: nextRevision() });
      await expectReply('ok', 'an expiry refuses new requests only');
      for (const [drain, kind] of [
        [false, 'stop'],
        [true, 'ok'],
      ] as const) {
        await live.putAccount({ accountId, status: 'frozen', drain, revision: nextRevision() });
        await expectReply(kind, `account frozen, drain ${drain}`);
      }
      await live.putAccount({
        accountId,
        status: 'active',
        drain: false,
        revision: nextRevision(),
      });
      await expectReply('ok', 'account active again');
      await putSubscription(tenant, { status: 'closing', drain: true, revision: nextRevision() });
      await expectReply('ok', 'subscription closing, draining');
      await putSubscription(tenant, { status: 'closing', drain: false, revision: nextRevision() });
      await expectReply('stop', 'subscription closing');
      const before = await funds(tenant);
      assert.deepEqual(await checkpoint(tenant, rid, { extendTokens: 50, usedTokens: 77 }), {
        kind: 'stop',
        heldTokens: before?.held,
      });
      assert.equal(
        (await readHold(tenant.redis, keys.hold(tenant.shard, rid)))?.['used'],
        '77',
        'what it used is remembered',
      );
      assert.deepEqual(await funds(tenant), before);
      await tenant.redis.del(keys.key(tenant.shard, tenant.keyHash));
      await putSubscription(tenant, { generation: 2, drain: true, revision: nextRevision() });
      await expectReply('stop', 'no key at all');
      await putKey(tenant, { revision: nextRevision() });
      await tenant.redis.del(keys.subscription(tenant.shard, accountId, MODEL_ID));
      await expectReply('stop', 'no subscription at all');
    },
};
