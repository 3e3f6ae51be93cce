import assert from 'node:assert/strict';
import { usageReapSchema, withdrawalSchema } from '@tollgate/contracts';
import type { HoldRef, SettleReply } from '../src/index.ts';
import { keys } from '../src/keys.ts';
import { admitted, books, contents, credit, drain, MODEL_ID, openAccount, OTHER_MODEL_ID, putKey, putSubscription, request, SUBSCRIPTION_ID, type Checks, type Tenant } from './world.ts';

export const settlementChecks: Checks = {
  'a settlement releases the hold, debits the charge and emits the event in one step': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await admitted(tenant);
    assert.deepEqual(await settle(tenant, rid, 60), { kind: 'settled', balance: 940, from: 'open' });
    assert.deepEqual(await books(tenant), { balance: 940, held: 0, running: 0, status: 'active' });
    assert.deepEqual(await drain(tenant), [{ rid, seq: '0', delta: '60', payload: 'final 60' }]);
  },

  'a request that cost nothing leaves a delta of 0, never -0': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 100 });
    const rid = await admitted(tenant);
    await settle(tenant, rid, 0);
    const free = await admitted(tenant, { wantTokens: 0, minTokens: 0 });
    await settle(tenant, free, 0);
    assert.deepEqual((await drain(tenant)).map((event) => event.delta), ['0', '0']);
    assert.deepEqual(await books(tenant), { balance: 100, held: 0, running: 0, status: 'active' });
  },

  'a charge above its hold goes below zero by what the upstream exceeded, and the next credit pays it first': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 100 });
    await settle(tenant, await admitted(tenant), 130);
    assert.equal((await books(tenant))?.balance, -30);
    assert.deepEqual(await tenant.store.admit(request(tenant)), { kind: 'balance_too_low', balance: -30, subscriptionId: SUBSCRIPTION_ID });
    await credit(tenant, 2, 50);
    assert.equal((await books(tenant))?.balance, 20);
  },

  'settling twice, or three times at once, charges once': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await admitted(tenant);
    const replies = await Promise.all([settle(tenant, rid, 60), settle(tenant, rid, 60), settle(tenant, rid, 60)]);
    assert.deepEqual(replies.map((reply) => reply.kind).toSorted(), ['duplicate', 'duplicate', 'settled']);
    assert.equal((await books(tenant))?.balance, 940);
    assert.equal((await drain(tenant)).length, 1);
  },

  'a hold whose lease ran out is charged its checkpoint; the final that comes later is a correction': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await admitted(tenant, { priceVersionId: 77, node: 'node-1:3' });
    await checkpoint(tenant, rid, { usedTokens: 40 });
    await checkpoint(tenant, rid, { usedTokens: 30 });
    const ref = refOf(tenant, rid);
    tenant.clock.now += 59_999;
    assert.equal((await tenant.store.reap(ref)).kind, 'alive');
    tenant.clock.now += 1;
    assert.deepEqual(await tenant.store.reap(ref), { kind: 'reaped', chargedTokens: 40 });
    assert.equal((await tenant.store.reap(ref)).kind, 'not_open');
    assert.deepEqual(await books(tenant), { balance: 960, held: 0, running: 0, status: 'active' });
    assert.deepEqual(await settle(tenant, rid, 55), { kind: 'settled', balance: 945, from: 'reaped' });
    const [reaped, corrected] = await drain(tenant);
    const { payload, ...event } = reaped!;
    assert.deepEqual(event, { rid, seq: '0', delta: '40' });
    assert.deepEqual(usageReapSchema.parse(JSON.parse(payload)), {
      ...{ kind: 'reap', account_id: tenant.accountId, key_id: 5, subscription_id: SUBSCRIPTION_ID, model_id: MODEL_ID, price_version_id: 77, node: 'node-1:3' },
    });
    assert.deepEqual(corrected, { rid, seq: '1', delta: '15', payload: 'final 55' });
  },

  'a correction may be negative, or nothing at all, and is emitted all the same': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    for (const [charge, delta] of [[10, '-30'], [40, '0']] as const) {
      const rid = await reapedAt(tenant, 40);
      await drain(tenant);
      await settle(tenant, rid, charge);
      assert.deepEqual(await drain(tenant), [{ rid, seq: '1', delta, payload: `final ${charge}` }]);
    }
    assert.equal((await books(tenant))?.balance, 950);
  },

  'a settlement whose acknowledgement never came leaves again on request, each event with its own payload': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const plain = await admitted(tenant);
    await settle(tenant, plain, 60);
    const corrected = await reapedAt(tenant, 40);
    await settle(tenant, corrected, 55);
    const first = await drain(tenant);
    assert.equal((await settle(tenant, plain, 60)).kind, 'duplicate');
    assert.deepEqual(await drain(tenant), [], 'not without being asked');
    await settle(tenant, plain, 60, { reEmit: true });
    await settle(tenant, corrected, 55, { reEmit: true });
    assert.deepEqual(await drain(tenant), first);
  },

  'a final of a hold that Redis lost is debited': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = tenant.rid();
    assert.deepEqual(await settle(tenant, rid, 30), { kind: 'settled', balance: 970, from: 'none' });
    assert.equal((await settle(tenant, rid, 30)).kind, 'duplicate');
    assert.deepEqual(await drain(tenant), [{ rid, seq: '0', delta: '30', payload: 'final 30' }]);
    const again = await tenant.store.admit(request(tenant, { rid }));
    assert.deepEqual(again, { kind: 'duplicate', state: 'done', grantedTokens: 0, keyId: 0, subscriptionId: 0, generation: 0, epoch: 'e1' });
  },

  'a final without a trace that is older than any marker is fenced: only PostgreSQL can tell whether it was settled': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const before = await contents(tenant);
    assert.deepEqual(await settle(tenant, tenant.rid(14 * 60_000), 30), { kind: 'fenced' });
    assert.deepEqual(await contents(tenant), before);
    assert.equal((await settle(tenant, tenant.rid(14 * 60_000 - 1), 30)).kind, 'settled');
  },

  'an old request with a hold is settled whatever its age': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await admitted(tenant);
    const reaped = await reapedAt(tenant, 5);
    tenant.clock.now += 20 * 3_600_000;
    assert.equal((await settle(tenant, rid, 30)).kind, 'settled');
    assert.equal((await settle(tenant, reaped, 30)).kind, 'settled');
  },

  'markers stay 15 minutes after a settlement and a day after a reap': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const settled = await admitted(tenant);
    await settle(tenant, settled, 1);
    const reaped = await reapedAt(tenant, 5);
    const ttlOf = (rid: string): Promise<number> => tenant.redis.pttl(keys.hold(tenant.shard, rid));
    assert.ok(Math.abs((await ttlOf(settled)) - 900_000) < 10_000);
    assert.ok(Math.abs((await ttlOf(reaped)) - 86_400_000) < 10_000);
    await settle(tenant, reaped, 5);
    assert.ok(Math.abs((await ttlOf(reaped)) - 900_000) < 10_000);
    assert.equal(await ttlOf(await admitted(tenant)), -1, 'an open hold never expires by itself');
  },

  'usage of a subscription Redis does not know is remembered and emitted': async (world) => {
    const tenant = await world.tenant();
    const rid = tenant.rid();
    assert.deepEqual(await settle(tenant, rid, 30), { kind: 'settled', balance: -30, from: 'none' });
    assert.equal((await drain(tenant)).length, 1);
    await putSubscription(tenant);
    await credit(tenant, 1, 100);
    assert.deepEqual(await books(tenant), { balance: 70, held: 0, running: 0, status: 'active' });
  },

  'a hold is settled and reaped against its own subscription or not at all': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await admitted(tenant);
    tenant.clock.now += 60_000;
    const before = await contents(tenant);
    for (const ref of [{ ...refOf(tenant, rid), modelId: OTHER_MODEL_ID }, { ...refOf(tenant, rid), accountId: tenant.otherAccountId }]) {
      await assert.rejects(tenant.store.settle({ ...ref, chargeTokens: 1, payload: '{}', reEmit: false }), /another subscription/);
      await assert.rejects(tenant.store.reap(ref), /another subscription/);
      await assert.rejects(tenant.store.checkpoint({ ...ref, keyHash: tenant.keyHash, usedTokens: 1, extendTokens: 1, leaseMs: 1 }), /another subscription/);
    }
    assert.deepEqual(await contents(tenant), before);
  },

  'a charge that is not a whole number from zero up is refused and changes nothing': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await admitted(tenant);
    const { shard, accountId } = tenant;
    const before = await contents(tenant);
    const functionKeys = [keys.epoch(shard), keys.subscription(shard, accountId, MODEL_ID), keys.hold(shard, rid), keys.holds(shard), keys.outbox(shard)];
    for (const bad of ['-1', '1.5', 'nan', '']) {
      await assert.rejects(tenant.library.call('settle', functionKeys, ['e1', rid, accountId, MODEL_ID, bad, '{}', 0, tenant.clock.now]), /invalid settle/);
    }
    assert.deepEqual(await contents(tenant), before);
  },

  'a withdrawal takes what no hold has a claim to, once, and closes the subscription': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await admitted(tenant);
    const withdrawalId = tenant.rid();
    assert.deepEqual(await withdraw(tenant, withdrawalId), { kind: 'withdrawn', tokens: 900, held: 100 });
    assert.deepEqual(await withdraw(tenant, withdrawalId), { kind: 'duplicate', tokens: 900 });
    assert.deepEqual(await books(tenant), { balance: 100, held: 100, running: 1, status: 'closing' });
    const [event, ...others] = await drain(tenant);
    assert.deepEqual({ ...event, payload: withdrawalSchema.parse(JSON.parse(event!.payload)) }, {
      ...{ rid: withdrawalId, seq: '0', delta: '900' },
      payload: { kind: 'withdraw', account_id: tenant.accountId, subscription_id: SUBSCRIPTION_ID, model_id: MODEL_ID, withdrawal_id: withdrawalId },
    });
    assert.deepEqual(others, []);
    const subscribed = await tenant.store.access({ accountId: tenant.accountId, keyHash: tenant.keyHash, addressHex: '' });
    assert.ok(subscribed.kind === 'allowed' && subscribed.subscribedModelIds.length === 0);
  },

  'a withdrawal from an overdrawn subscription takes nothing and still says so': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 100 });
    await settle(tenant, await admitted(tenant), 130);
    await drain(tenant);
    assert.deepEqual(await withdraw(tenant, tenant.rid()), { kind: 'withdrawn', tokens: 0, held: 0 });
    assert.deepEqual((await drain(tenant)).map(({ seq, delta }) => [seq, delta]), [['0', '0']]);
    assert.equal((await books(tenant))?.balance, -30);
  },

  'nothing is withdrawn from a subscription that is not there, or is another': async (world) => {
    const tenant = await world.tenant();
    assert.equal((await withdraw(tenant, tenant.rid())).kind, 'not_found');
    await openAccount(tenant);
    const ask = { accountId: tenant.accountId, modelId: MODEL_ID, subscriptionId: SUBSCRIPTION_ID + 1, withdrawalId: tenant.rid(), drain: false };
    assert.equal((await tenant.store.withdraw(ask)).kind, 'not_found');
  },

  'what running requests release on a closing subscription is withdrawn as they end': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const [settled, exceeding, lost] = [await admitted(tenant), await admitted(tenant), await admitted(tenant)];
    await checkpoint(tenant, lost!, { usedTokens: 25 });
    const withdrawalId = tenant.rid();
    await withdraw(tenant, withdrawalId);
    await drain(tenant);
    await settle(tenant, settled!, 60);
    await settle(tenant, exceeding!, 100);
    tenant.clock.now += 60_000;
    await tenant.store.reap(refOf(tenant, lost!));
    const events = await drain(tenant);
    assert.deepEqual(events.map(({ rid, seq, delta }) => [rid, seq, delta]), [[settled, '0', '60'], [settled, '2', '40'], [exceeding, '0', '100'], [lost, '0', '25'], [lost, '2', '75']]);
    assert.equal(withdrawalSchema.parse(JSON.parse(events[1]!.payload)).withdrawal_id, withdrawalId);
    assert.deepEqual(await books(tenant), { balance: 0, held: 0, running: 0, status: 'closing' });
    await settle(tenant, settled!, 60, { reEmit: true });
    assert.deepEqual(await drain(tenant), events.slice(0, 2));
    // The lost request's tokens are gone: its correction is an overdraft.
    await settle(tenant, lost!, 35);
    assert.equal((await books(tenant))?.balance, -10);
  },

  'a correction gives tokens back to a closing subscription only once': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const [before, after] = [await reapedAt(tenant, 40), await admitted(tenant)];
    await checkpoint(tenant, after!, { usedTokens: 40 });
    await withdraw(tenant, tenant.rid());
    tenant.clock.now += 60_000;
    await tenant.store.reap(refOf(tenant, after!));
    await drain(tenant);
    await settle(tenant, before!, 10);
    await settle(tenant, after!, 10);
    assert.deepEqual((await drain(tenant)).map(({ rid, seq, delta }) => [rid, seq, delta]), [[before, '1', '-30'], [before, '2', '30'], [after, '1', '-30']]);
    assert.equal((await books(tenant))?.balance, 30);
  },

  'a hold from before a subscription was closed and opened again leaves the new tokens alone': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const old = await admitted(tenant);
    const withdrawalId = tenant.rid();
    await withdraw(tenant, withdrawalId);
    await putSubscription(tenant, { generation: 2, revision: 2, withdrawalId });
    await credit(tenant, 2, 500);
    assert.deepEqual(await checkpoint(tenant, old, { usedTokens: 20, extendTokens: 50 }), { kind: 'ok', heldTokens: 100, extendedTokens: 0 });
    const current = await admitted(tenant);
    await drain(tenant);
    await settle(tenant, old, 60);
    await settle(tenant, current, 60);
    assert.deepEqual((await drain(tenant)).map(({ rid, seq, delta }) => [rid, seq, delta]), [[old, '0', '60'], [old, '2', '40'], [current, '0', '60']]);
    assert.deepEqual(await books(tenant), { balance: 440, held: 0, running: 0, status: 'active' });
  },

  'released tokens that cover an overdraft are not withdrawn': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 200 });
    const [exceeding, other] = [await admitted(tenant), await admitted(tenant)];
    await withdraw(tenant, tenant.rid());
    await settle(tenant, exceeding!, 130);
    await settle(tenant, other!, 50);
    const released = (await drain(tenant)).filter(({ rid, seq }) => rid === other && seq === '2');
    assert.deepEqual(released.map(({ delta }) => delta), ['20']);
    assert.equal((await books(tenant))?.balance, 0);
  },

  'a checkpoint renews the lease and extends the hold by what fits': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 250 });
    const rid = await admitted(tenant, { leaseMs: 1_000 });
    assert.deepEqual(await checkpoint(tenant, rid, { extendTokens: 100 }), { kind: 'ok', heldTokens: 200, extendedTokens: 100 });
    assert.deepEqual(await checkpoint(tenant, rid, { extendTokens: 100 }), { kind: 'ok', heldTokens: 250, extendedTokens: 50 });
    assert.deepEqual(await checkpoint(tenant, rid, { extendTokens: 100 }), { kind: 'ok', heldTokens: 250, extendedTokens: 0 });
    assert.deepEqual(await books(tenant), { balance: 250, held: 250, running: 1, status: 'active' });
    tenant.clock.now += 59_999;
    assert.equal((await tenant.store.reap(refOf(tenant, rid))).kind, 'alive');
    await settle(tenant, rid, 250);
    assert.deepEqual(await checkpoint(tenant, rid, {}), { kind: 'gone', state: 'done' });
    assert.deepEqual(await checkpoint(tenant, tenant.rid(), {}), { kind: 'gone', state: 'none' });
    const reaped = await reapedAt(tenant, 0, { wantTokens: 0, minTokens: 0 });
    assert.deepEqual(await checkpoint(tenant, reaped, {}), { kind: 'gone', state: 'reaped' });
  },

  'a stream is stopped once its key, account or subscription no longer allows it, unless that one drains': async (world) => {
    const tenant = await world.tenant();
    const { live, accountId } = tenant;
    await openAccount(tenant);
    const rid = await admitted(tenant);
    let revision = 1;
    const nextRevision = (): number => (revision += 1);
    const expectReply = async (kind: string, what: string): Promise<void> => assert.equal((await checkpoint(tenant, rid, { extendTokens: 1 })).kind, kind, what);
    for (const status of ['disabled', 'deleted'] as const) {
      await putKey(tenant, { status, revision: nextRevision() });
      await expectReply('stop', `key ${status}`);
      await putKey(tenant, { status, drain: true, revision: nextRevision() });
      await expectReply('ok', `key ${status}, draining`);
    }
    await putKey(tenant, { expiresAtMs: tenant.clock.now, revision: nextRevision() });
    await expectReply('ok', 'an expiry refuses new requests only');
    for (const [drain, kind] of [[false, 'stop'], [true, 'ok']] as const) {
      await live.putAccount({ accountId, status: 'frozen', drain, revision: nextRevision() });
      await expectReply(kind, `account frozen, drain ${drain}`);
    }
    await live.putAccount({ accountId, status: 'active', drain: false, revision: nextRevision() });
    await expectReply('ok', 'account active again');
    await putSubscription(tenant, { status: 'closing', drain: true, revision: nextRevision() });
    await expectReply('ok', 'subscription closing, draining');
    await putSubscription(tenant, { status: 'closing', drain: false, revision: nextRevision() });
    await expectReply('stop', 'subscription closing');
    const before = await books(tenant);
    assert.deepEqual(await checkpoint(tenant, rid, { extendTokens: 50, usedTokens: 77 }), { kind: 'stop', heldTokens: before!.held });
    assert.equal(await tenant.redis.hget(keys.hold(tenant.shard, rid), 'used'), '77', 'what it used is remembered');
    assert.deepEqual(await books(tenant), before);
    await tenant.redis.del(keys.key(tenant.shard, tenant.keyHash));
    await putSubscription(tenant, { generation: 2, drain: true, revision: nextRevision() });
    await expectReply('stop', 'no key at all');
  },
};

function refOf(tenant: Tenant, rid: string): HoldRef {
  return { rid, accountId: tenant.accountId, modelId: MODEL_ID };
}

function settle(tenant: Tenant, rid: string, chargeTokens: number, { reEmit = false } = {}): Promise<SettleReply> {
  return tenant.store.settle({ ...refOf(tenant, rid), chargeTokens, payload: `final ${chargeTokens}`, reEmit });
}

function checkpoint(tenant: Tenant, rid: string, changes: { usedTokens?: number; extendTokens?: number }): ReturnType<Tenant['store']['checkpoint']> {
  return tenant.store.checkpoint({ ...refOf(tenant, rid), keyHash: tenant.keyHash, usedTokens: 0, extendTokens: 0, leaseMs: 60_000, ...changes });
}

function withdraw(tenant: Tenant, withdrawalId: string): ReturnType<Tenant['store']['withdraw']> {
  return tenant.store.withdraw({ accountId: tenant.accountId, modelId: MODEL_ID, subscriptionId: SUBSCRIPTION_ID, withdrawalId, drain: false });
}

/** A request of 100 held tokens whose node vanished at a checkpoint of `usedTokens`. */
async function reapedAt(tenant: Tenant, usedTokens: number, changes: { wantTokens?: number; minTokens?: number } = {}): Promise<string> {
  const rid = await admitted(tenant, changes);
  await checkpoint(tenant, rid, { usedTokens });
  tenant.clock.now += 60_000;
  assert.equal((await tenant.store.reap(refOf(tenant, rid))).kind, 'reaped');
  return rid;
}
