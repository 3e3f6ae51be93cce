import assert from 'node:assert/strict';
import { withdrawalSchema } from '@tollgate/contracts';
import { keys } from '../src/keys.ts';
import { element } from './element.ts';
import { plainSubscription } from './plain-records.ts';
import { refOf, settle, checkpoint, withdraw, reapedAt } from './tenant-acts.ts';
import {
  admitted,
  contents,
  funds,
  credit,
  drain,
  MODEL_ID,
  openAccount,
  putSubscription,
  SUBSCRIPTION_ID,
  type Checks,
} from './world.ts';

export const closingChecks: Checks = {
  'a withdrawal takes what no hold has a claim to, once, and closes the subscription': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await admitted(tenant);
    const withdrawalId = tenant.rid();
    assert.deepEqual(await withdraw(tenant, withdrawalId), {
      kind: 'withdrawn',
      tokens: 900,
      held: 100,
    });
    assert.deepEqual(await withdraw(tenant, withdrawalId), { kind: 'duplicate', tokens: 900 });
    assert.deepEqual(await funds(tenant), {
      balance: 100,
      held: 100,
      running: 1,
      status: 'closing',
    });
    const [event, ...others] = await drain(tenant);
    assert.ok(event);
    assert.deepEqual(
      { ...event, payload: withdrawalSchema.parse(JSON.parse(event.payload)) },
      {
        ...{ rid: withdrawalId, seq: '0', delta: '900' },
        payload: {
          kind: 'withdraw',
          account_id: tenant.accountId,
          subscription_id: SUBSCRIPTION_ID,
          model_id: MODEL_ID,
          withdrawal_id: withdrawalId,
        },
      },
    );
    assert.deepEqual(others, []);
    const subscribed = await tenant.store.access({
      accountId: tenant.accountId,
      keyHash: tenant.keyHash,
      addressHex: '',
    });
    assert.ok(subscribed.kind === 'allowed' && subscribed.subscribedModelIds.length === 0);
  },

  'a withdrawal from an overdrawn subscription takes nothing and still says so': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 100 });
    await settle(tenant, await admitted(tenant), 130);
    await drain(tenant);
    assert.deepEqual(await withdraw(tenant, tenant.rid()), {
      kind: 'withdrawn',
      tokens: 0,
      held: 0,
    });
    assert.deepEqual(
      (await drain(tenant)).map(({ seq, delta }) => [seq, delta]),
      [['0', '0']],
    );
    assert.equal((await funds(tenant))?.balance, -30);
  },

  'nothing is withdrawn while a credit of the ledger is missing, which the write of the record shows':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const id = tenant.rid();
      const record = plainSubscription({ ...tenant, modelId: MODEL_ID, id: SUBSCRIPTION_ID });
      const put = (revision: number) => tenant.live.putSubscription({ ...record, revision });
      assert.deepEqual(await put(2), { kind: 'applied', creditSeq: 1 });
      assert.deepEqual(await put(1), { kind: 'stale', creditSeq: 1 });
      const before = await contents(tenant);
      assert.deepEqual(await withdraw(tenant, id, 2), { kind: 'behind' });
      assert.deepEqual(await contents(tenant), before);
      await credit(tenant, 2, 500);
      assert.deepEqual(await withdraw(tenant, id, 2), {
        kind: 'withdrawn',
        tokens: 1_500,
        held: 0,
      });
      assert.deepEqual(await withdraw(tenant, id, 3), { kind: 'duplicate', tokens: 1_500 });
    },

  'nothing is withdrawn from a subscription that is not there, or is another': async (world) => {
    const tenant = await world.tenant();
    assert.equal((await withdraw(tenant, tenant.rid())).kind, 'not_found');
    await openAccount(tenant);
    const ask = {
      accountId: tenant.accountId,
      modelId: MODEL_ID,
      subscriptionId: SUBSCRIPTION_ID + 1,
      withdrawalId: tenant.rid(),
      drain: false,
      creditSeq: 0,
    };
    assert.equal((await tenant.store.withdraw(ask)).kind, 'not_found');
  },

  'a withdrawal that arrives after a later one takes nothing': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const earlier = tenant.rid();
    tenant.clock.now += 1_000;
    const later = tenant.rid();
    await withdraw(tenant, earlier);
    await putSubscription(tenant, { generation: 2, revision: 2, withdrawalId: earlier });
    await withdraw(tenant, later);
    await putSubscription(tenant, { generation: 3, revision: 3, withdrawalId: later });
    await credit(tenant, 2, 500);
    await drain(tenant);
    assert.equal((await withdraw(tenant, earlier)).kind, 'not_found');
    assert.deepEqual(await drain(tenant), []);
    assert.deepEqual(await funds(tenant), { balance: 500, held: 0, running: 0, status: 'active' });
  },

  'what running requests release on a closing subscription is withdrawn as they end': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const [settled, exceeding, lost] = [
      await admitted(tenant),
      await admitted(tenant),
      await admitted(tenant),
    ];
    await checkpoint(tenant, lost, { usedTokens: 25 });
    const withdrawalId = tenant.rid();
    await withdraw(tenant, withdrawalId);
    await drain(tenant);
    await settle(tenant, settled, 60);
    await settle(tenant, exceeding, 100);
    tenant.clock.now += 60_000;
    await tenant.store.reap(refOf(tenant, lost));
    const events = await drain(tenant);
    assert.deepEqual(
      events.map(({ rid, seq, delta }) => [rid, seq, delta]),
      [
        [settled, '0', '60'],
        [settled, '2', '40'],
        [exceeding, '0', '100'],
        [lost, '0', '25'],
        [lost, '2', '75'],
      ],
    );
    assert.equal(
      withdrawalSchema.parse(JSON.parse(element(events, 1).payload)).withdrawal_id,
      withdrawalId,
    );
    assert.deepEqual(await funds(tenant), { balance: 0, held: 0, running: 0, status: 'closing' });
    await settle(tenant, settled, 60, { reEmit: true });
    assert.deepEqual(await drain(tenant), events.slice(0, 2));
    // The lost request's tokens are gone: its correction is an overdraft.
    await settle(tenant, lost, 35);
    assert.equal((await funds(tenant))?.balance, -10);
  },

  'a correction gives tokens back to a closing subscription only once': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const [before, after] = [await reapedAt(tenant, 40), await admitted(tenant)];
    await checkpoint(tenant, after, { usedTokens: 40 });
    await withdraw(tenant, tenant.rid());
    tenant.clock.now += 60_000;
    await tenant.store.reap(refOf(tenant, after));
    await drain(tenant);
    await settle(tenant, before, 10);
    await settle(tenant, after, 10);
    assert.deepEqual(
      (await drain(tenant)).map(({ rid, seq, delta }) => [rid, seq, delta]),
      [
        [before, '1', '-30'],
        [before, '2', '30'],
        [after, '1', '-30'],
      ],
    );
    assert.equal((await funds(tenant))?.balance, 30);
  },

  'a hold from before a subscription was closed and opened again leaves the new tokens alone':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const old = await admitted(tenant);
      const withdrawalId = tenant.rid();
      await withdraw(tenant, withdrawalId);
      await putSubscription(tenant, { generation: 2, revision: 2, withdrawalId });
      await credit(tenant, 2, 500);
      assert.deepEqual(await checkpoint(tenant, old, { usedTokens: 20, extendTokens: 50 }), {
        kind: 'ok',
        heldTokens: 100,
        extendedTokens: 0,
        isRechargeDue: false,
      });
      const current = await admitted(tenant);
      await drain(tenant);
      await settle(tenant, old, 60);
      await settle(tenant, current, 60);
      assert.deepEqual(
        (await drain(tenant)).map(({ rid, seq, delta }) => [rid, seq, delta]),
        [
          [old, '0', '60'],
          [old, '2', '40'],
          [current, '0', '60'],
        ],
      );
      assert.deepEqual(await funds(tenant), {
        balance: 440,
        held: 0,
        running: 0,
        status: 'active',
      });
    },

  'a rebuilt subscription remembers the withdrawal that older holds release into': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const old = await admitted(tenant);
    await tenant.redis.del(keys.subscription(tenant.shard, tenant.accountId, MODEL_ID));
    const withdrawalId = tenant.rid();
    await putSubscription(tenant, {
      generation: 2,
      withdrawalId,
      opening: { balance: 600, creditSeq: 3 },
    });
    await putSubscription(tenant, { generation: 2, withdrawalId: tenant.rid() });
    await settle(tenant, old, 60);
    const [, released] = await drain(tenant);
    assert.ok(released);
    assert.deepEqual(
      [
        released.seq,
        released.delta,
        withdrawalSchema.parse(JSON.parse(released.payload)).withdrawal_id,
      ],
      ['2', '40', withdrawalId],
    );
  },

  'released tokens that cover an overdraft are not withdrawn': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 200 });
    const [exceeding, other] = [await admitted(tenant), await admitted(tenant)];
    await withdraw(tenant, tenant.rid());
    await settle(tenant, exceeding, 130);
    await settle(tenant, other, 50);
    const released = (await drain(tenant)).filter(({ rid, seq }) => rid === other && seq === '2');
    assert.deepEqual(
      released.map(({ delta }) => delta),
      ['20'],
    );
    assert.equal((await funds(tenant))?.balance, 0);
  },
};
