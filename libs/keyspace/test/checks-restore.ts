import assert from 'node:assert/strict';
import { usageReapSchema } from '@tollgate/contracts';
import { keys } from '../src/keys.ts';
import { checkpoint, reapedAt, refOf, restore, settle, withdraw } from './tenant-acts.ts';
import {
  admitted,
  funds,
  contents,
  drain,
  KEY_ID,
  MODEL_ID,
  openAccount,
  OTHER_MODEL_ID,
  putSubscription,
  SUBSCRIPTION_ID,
  type Checks,
} from './world.ts';

export const restoreChecks: Checks = {
  'a hold that Redis lost is taken again, as far as the tokens are there, and is settled like any other':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant, { tokens: 150 });
      const [first, second, third] = [tenant.rid(), tenant.rid(), tenant.rid()];
      assert.deepEqual(await restore(tenant, first), { kind: 'restored', heldTokens: 100 });
      assert.deepEqual(await funds(tenant), {
        balance: 150,
        held: 100,
        running: 1,
        status: 'active',
      });
      assert.deepEqual(await restore(tenant, second), { kind: 'restored', heldTokens: 50 });
      assert.deepEqual(await restore(tenant, third), { kind: 'restored', heldTokens: 0 });
      assert.deepEqual(await settle(tenant, first, 120), {
        kind: 'settled',
        balance: 30,
        from: 'open',
      });
      assert.deepEqual(await funds(tenant), {
        balance: 30,
        held: 50,
        running: 2,
        status: 'active',
      });
      assert.deepEqual(
        await restore(tenant, tenant.rid()),
        { kind: 'restored', heldTokens: 0 },
        'others hold more than is left',
      );
      assert.deepEqual(await drain(tenant), [
        { rid: first, seq: '0', delta: '120', payload: 'final 120' },
      ]);
    },

  'restoring twice holds once, and a request that is over is not restored': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const settled = await admitted(tenant);
    await settle(tenant, settled, 10);
    const reaped = await reapedAt(tenant, 5);
    const [running, unknown] = [await admitted(tenant), tenant.rid()];
    await restore(tenant, unknown, { wantTokens: 70 });
    const before = await contents(tenant);
    assert.deepEqual(await restore(tenant, running, { wantTokens: 500, node: 'node-1:0' }), {
      kind: 'restored',
      heldTokens: 100,
    });
    assert.deepEqual(await restore(tenant, unknown, { wantTokens: 500 }), {
      kind: 'restored',
      heldTokens: 70,
    });
    assert.deepEqual(await restore(tenant, settled), { kind: 'gone', state: 'done' });
    assert.deepEqual(await restore(tenant, reaped), { kind: 'gone', state: 'reaped' });
    assert.deepEqual(await contents(tenant), before);
  },

  'restoring a hold that is still open renews its lease and says what it used, as a checkpoint does':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const rid = await admitted(tenant);
      await checkpoint(tenant, rid, { usedTokens: 20 });
      tenant.clock.now += 30_000;
      assert.deepEqual(await restore(tenant, rid, { usedTokens: 40 }), {
        kind: 'restored',
        heldTokens: 100,
      });
      assert.deepEqual(await restore(tenant, rid, { usedTokens: 10 }), {
        kind: 'restored',
        heldTokens: 100,
      });
      tenant.clock.now += 59_999;
      assert.equal((await tenant.store.reap(refOf(tenant, rid))).kind, 'alive');
      tenant.clock.now += 1;
      assert.deepEqual(await tenant.store.reap(refOf(tenant, rid)), {
        kind: 'reaped',
        chargedTokens: 40,
      });
    },

  'a restored hold whose node dies is reaped by what it had used, with everything the ledger needs to know':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const rid = tenant.rid();
      await restore(tenant, rid, { usedTokens: 40, leaseMs: 5_000 });
      tenant.clock.now += 4_999;
      assert.equal((await tenant.store.reap(refOf(tenant, rid))).kind, 'alive');
      tenant.clock.now += 1;
      assert.deepEqual(await tenant.store.reap(refOf(tenant, rid)), {
        kind: 'reaped',
        chargedTokens: 40,
      });
      const [event] = await drain(tenant);
      assert.deepEqual(
        { ...event, payload: usageReapSchema.parse(JSON.parse(event?.payload ?? '')) },
        {
          ...{ rid, seq: '0', delta: '40' },
          payload: {
            kind: 'reap',
            account_id: tenant.accountId,
            key_id: KEY_ID,
            subscription_id: SUBSCRIPTION_ID,
            model_id: MODEL_ID,
            price_version_id: 77,
            node: 'node-1:3',
          },
        },
      );
      assert.deepEqual(await settle(tenant, rid, 55), {
        kind: 'settled',
        balance: 945,
        from: 'reaped',
      });
    },

  'a hold whose journal moves from node to node is reaped in the name of the one that signed last':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const [counted, kept] = [await admitted(tenant), await admitted(tenant)];
      await checkpoint(tenant, counted, { usedTokens: 10, node: 'node-2:0' });
      await restore(tenant, counted, { usedTokens: 20, node: 'node-3:1' });
      await restore(tenant, kept, { usedTokens: 20, node: 'node-2:0' });
      await checkpoint(tenant, kept, { usedTokens: 20, node: 'node-3:1' });
      // Less than is known changes neither what was used nor who signed it.
      for (const rid of [counted, kept]) {
        await checkpoint(tenant, rid, { usedTokens: 19, node: 'node-4:0' });
        await restore(tenant, rid, { usedTokens: 19, node: 'node-4:0' });
      }
      tenant.clock.now += 60_000;
      for (const rid of [counted, kept]) await tenant.store.reap(refOf(tenant, rid));
      const events = await drain(tenant);
      assert.deepEqual(
        events.map(({ delta, payload }) => [delta, JSON.parse(payload).node]),
        [
          ['20', 'node-3:1'],
          ['20', 'node-3:1'],
        ],
      );
    },

  'what a restored hold of an older generation releases is withdrawn': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await withdraw(tenant, tenant.rid());
    await putSubscription(tenant, {
      generation: 2,
      revision: 2,
      opening: { balance: 0, creditSeq: 0 },
    });
    await tenant.store.credit({
      accountId: tenant.accountId,
      modelId: MODEL_ID,
      subscriptionId: SUBSCRIPTION_ID,
      seq: 2,
      deltaTokens: 300,
    });
    await drain(tenant);
    const [older, current] = [tenant.rid(), tenant.rid()];
    await restore(tenant, older, { generation: 1 });
    await restore(tenant, current, { generation: 2 });
    await settle(tenant, older, 60);
    await settle(tenant, current, 60);
    assert.deepEqual(
      (await drain(tenant)).map(({ rid, seq, delta }) => [rid, seq, delta]),
      [
        [older, '0', '60'],
        [older, '2', '40'],
        [current, '0', '60'],
      ],
    );
  },

  'without its subscription, against another one, under another epoch or with bad amounts nothing is restored':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const [rid, running] = [tenant.rid(), await admitted(tenant)];
      const before = await contents(tenant);
      assert.deepEqual(await restore(tenant, rid, { subscriptionId: SUBSCRIPTION_ID + 1 }), {
        kind: 'gone',
        state: 'none',
      });
      assert.deepEqual(await restore(tenant, rid, { modelId: OTHER_MODEL_ID }), {
        kind: 'gone',
        state: 'none',
      });
      assert.deepEqual(await restore(tenant, rid, { epoch: 'e0' }), { kind: 'fenced' });
      await assert.rejects(
        restore(tenant, running, { modelId: OTHER_MODEL_ID }),
        /another subscription/,
      );
      await assert.rejects(
        restore(tenant, running, { accountId: tenant.otherAccountId }),
        /another subscription/,
      );
      const { shard, accountId, library } = tenant;
      const functionKeys = [
        keys.epoch(shard),
        keys.subscription(shard, accountId, MODEL_ID),
        keys.hold(shard, rid),
        keys.holds(shard),
      ];
      const good = [
        'e1',
        rid,
        accountId,
        MODEL_ID,
        SUBSCRIPTION_ID,
        KEY_ID,
        77,
        1,
        'node-1:0',
        100,
        0,
        60_000,
        tenant.clock.now,
      ];
      for (const position of [9, 10, 11])
        await assert.rejects(
          library.call('restore', functionKeys, good.with(position, '-1')),
          /invalid restore/,
        );
      assert.deepEqual(await contents(tenant), before);
    },
};
