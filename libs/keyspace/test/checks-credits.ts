import assert from 'node:assert/strict';
import { keys } from '../src/keys.ts';
import {
  contents,
  funds,
  MODEL_ID,
  openAccount,
  putSubscription,
  SUBSCRIPTION_ID,
  type Checks,
} from './world.ts';

export const creditChecks: Checks = {
  'a lost shard is rebuilt with an opening balance, and goes on with the next credit': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await putSubscription(tenant, { opening: { balance: -40, creditSeq: 6 } });
    assert.equal((await funds(tenant))?.balance, -40);
    const ask = {
      accountId: tenant.accountId,
      modelId: MODEL_ID,
      subscriptionId: SUBSCRIPTION_ID,
      deltaTokens: 100,
    };
    assert.deepEqual(await tenant.store.credit({ ...ask, seq: 6 }), { kind: 'duplicate', seq: 6 });
    assert.deepEqual(await tenant.store.credit({ ...ask, seq: 8 }), { kind: 'gap', seq: 6 });
    assert.deepEqual(await tenant.store.credit({ ...ask, seq: 7 }), {
      kind: 'applied',
      balance: 60,
    });
  },
  'credits apply once and in order, also before the record is there, and only to their own subscription':
    async (world) => {
      const tenant = await world.tenant();
      const ask = {
        accountId: tenant.accountId,
        modelId: MODEL_ID,
        subscriptionId: SUBSCRIPTION_ID,
      };
      assert.deepEqual(await tenant.store.credit({ ...ask, seq: 2, deltaTokens: 100 }), {
        kind: 'gap',
        seq: 0,
      });
      assert.deepEqual(await tenant.store.credit({ ...ask, seq: 1, deltaTokens: 100 }), {
        kind: 'applied',
        balance: 100,
      });
      await putSubscription(tenant);
      assert.deepEqual(await tenant.store.credit({ ...ask, seq: 1, deltaTokens: 100 }), {
        kind: 'duplicate',
        seq: 1,
      });
      assert.deepEqual(await tenant.store.credit({ ...ask, seq: 2, deltaTokens: -30 }), {
        kind: 'applied',
        balance: 70,
      });
      const before = await contents(tenant);
      await assert.rejects(
        tenant.store.credit({ ...ask, subscriptionId: 77, seq: 3, deltaTokens: 1 }),
        /another subscription/,
      );
      await assert.rejects(
        tenant.store.credit({ ...ask, seq: 3, deltaTokens: Number.MAX_SAFE_INTEGER }),
        /too large/,
      );
      const { shard, accountId, library } = tenant;
      for (const args of [
        ['3', '1.5'],
        ['3', '--1'],
        ['3', '-'],
        ['-3', '1'],
        ['3', 'nan'],
      ]) {
        await assert.rejects(
          library.call(
            'credit',
            [keys.epoch(shard), keys.subscription(shard, accountId, MODEL_ID)],
            ['e1', SUBSCRIPTION_ID, ...args],
          ),
          /invalid credit/,
        );
      }
      assert.deepEqual(await contents(tenant), before);
      assert.deepEqual(
        await tenant.store.credit({ ...ask, seq: 3, deltaTokens: Number.MAX_SAFE_INTEGER - 70 }),
        { kind: 'applied', balance: Number.MAX_SAFE_INTEGER },
      );
    },
  'a late write cannot undo a withdrawal; a newer generation opens the subscription again': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await tenant.store.withdraw({
      accountId: tenant.accountId,
      modelId: MODEL_ID,
      subscriptionId: SUBSCRIPTION_ID,
      withdrawalId: tenant.rid(),
      drain: true,
      creditSeq: 1,
    });
    await putSubscription(tenant, { revision: 1 });
    assert.equal((await funds(tenant))?.status, 'closing');
    assert.equal(
      await tenant.redis.hget(keys.subscription(tenant.shard, tenant.accountId, MODEL_ID), 'drain'),
      '1',
      'nor that it drains',
    );
    await putSubscription(tenant, { status: 'closed', revision: 2 });
    await putSubscription(tenant, { status: 'closing', revision: 3 });
    assert.equal((await funds(tenant))?.status, 'closed');
    await putSubscription(tenant, { generation: 2, revision: 4 });
    assert.equal((await funds(tenant))?.status, 'active');
    const late = {
      accountId: tenant.accountId,
      modelId: MODEL_ID,
      id: SUBSCRIPTION_ID,
      drain: false,
      revision: 9,
      withdrawalId: null,
    } as const;
    assert.equal(
      (await tenant.live.putSubscription({ ...late, status: 'closed', generation: 1 })).kind,
      'stale',
    );
  },
};
