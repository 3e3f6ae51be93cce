import assert from 'node:assert/strict';
import { alterHold } from '@tollgate/harness';
import { FUNCTION_NAMES, type FunctionName } from '../src/functions/function-source.ts';
import { LiveCounts, MeteringStore, type Recounted } from '../src/index.ts';
import { keys } from '../src/keys.ts';
import {
  admitted,
  contents,
  credit,
  MODEL_ID,
  openAccount,
  request,
  SHARDS,
  SUBSCRIPTION_ID,
  type Checks,
  type Tenant,
} from './world.ts';

export const fencingChecks: Checks = {
  'without a clock of the tests, leases and windows follow the clock of Redis': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { rpm: 5 });
    const { library, epochCache, redis, shard } = tenant;
    const store = new MeteringStore({ library, epochs: epochCache, shards: SHARDS });
    const serverMs = async (): Promise<number> => {
      const [seconds = 0, micros = 0] = (await redis.time()).map(Number);
      return seconds * 1_000 + micros / 1_000;
    };
    const beforeMs = Math.floor(await serverMs());
    const asked = request(tenant, { leaseMs: 7_000 });
    const reply = await store.admit(asked);
    const afterMs = await serverMs();
    assert.ok(reply.kind === 'admitted');
    const deadline = Number(await redis.zscore(keys.holds(shard), asked.rid));
    assert.ok(
      deadline >= beforeMs + 7_000 && deadline <= afterMs + 7_000,
      `${deadline - beforeMs}`,
    );
    const resetMs = reply.windows[0]?.resetMs ?? 0;
    assert.ok(resetMs > 59_000 && resetMs <= 60_000);
  },

  'a shard that restores holds admits nothing, lets nothing be withdrawn and no hold grow; all else goes on until it is open':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant, { tokens: 1_000 });
      const [rid, ending] = [await admitted(tenant), await admitted(tenant)];
      const ref = { rid, accountId: tenant.accountId, modelId: MODEL_ID };
      await tenant.epochs.set(tenant.shard, 'rebuilding:e1');
      assert.equal(await tenant.epochs.beginRestoring(tenant.shard, 'other'), false);
      assert.equal(await tenant.epochs.beginRestoring(tenant.shard, 'e1'), true);
      assert.equal(await tenant.epochs.isOpen(tenant.shard), false);
      assert.equal(await tenant.epochs.read(tenant.shard), 'e1');
      const withdrawal = {
        ...ref,
        subscriptionId: SUBSCRIPTION_ID,
        withdrawalId: tenant.rid(),
        drain: false,
        creditSeq: 0,
      };
      assert.equal((await tenant.store.admit(request(tenant))).kind, 'fenced');
      assert.equal((await tenant.store.withdraw(withdrawal)).kind, 'fenced');
      const grow = () =>
        tenant.store.checkpoint({
          ...ref,
          keyHash: tenant.keyHash,
          node: 'node-1:0',
          usedTokens: 5,
          extendTokens: 50,
          leaseMs: 60_000,
        });
      // The stream asks again soon, as while a purchase is due.
      assert.deepEqual(await grow(), {
        kind: 'ok',
        heldTokens: 100,
        extendedTokens: 0,
        isRechargeDue: true,
      });
      const settled = await tenant.store.settle({
        ...ref,
        rid: ending,
        chargeTokens: 1,
        payload: '{}',
        reEmit: false,
      });
      assert.equal(settled.kind, 'settled');
      const polled = await tenant.store.relay(tenant.shard, {
        owner: 'test',
        leaseMs: 60_000,
        relayedIds: [],
        entriesMax: 1,
        bytesMax: 1,
        expiredHoldsMax: 0,
      });
      assert.equal(polled?.kind === 'leased' && polled.entries[0]?.epoch, 'e1');
      assert.equal(await tenant.epochs.open(tenant.shard, 'other'), false);
      assert.equal(await tenant.epochs.open(tenant.shard, 'e1'), true);
      assert.equal(await tenant.epochs.isOpen(tenant.shard), true);
      const grown = await grow();
      assert.equal(grown.kind === 'ok' && grown.extendedTokens, 50);
      assert.equal((await tenant.store.admit(request(tenant))).kind, 'admitted');
      assert.equal((await tenant.store.withdraw(withdrawal)).kind, 'withdrawn');
    },

  'a `held` that was lowered in Redis frees no more than the balance, and is the sum of the open holds again once it is counted':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant, { tokens: 1_000 });
      const [rid] = [await admitted(tenant), await admitted(tenant)];
      const record = keys.subscription(tenant.shard, tenant.accountId, MODEL_ID);
      await tenant.redis.hincrby(record, 'held', -1_000_000);
      await tenant.redis.hincrby(record, 'conc', -10);
      const wanted = request(tenant, { wantTokens: 5_000, minTokens: 1 });
      const reply = await tenant.store.admit(wanted);
      assert.equal(reply.kind === 'admitted' && reply.grantedTokens, 1_000);
      const ref = { accountId: tenant.accountId, modelId: MODEL_ID };
      const settled = { ...ref, rid, chargeTokens: 1, payload: '{}', reEmit: false };
      await tenant.store.settle(settled);
      const counts = countsOf(tenant);
      const missing = { ...ref, modelId: MODEL_ID + 99 };
      const before = String(100 + 1_000 - 1_000_000);
      assert.deepEqual(
        ofTenant(tenant, (await counts.recountHolds([ref, missing])).subscriptions),
        [{ ...ref, before, held: 100 + 1_000 }],
      );
      assert.deepEqual(await tenant.redis.hmget(record, 'held', 'conc'), ['1100', '2']);
      assert.equal((await tenant.store.admit(request(tenant))).kind, 'tokens_held');
      assert.deepEqual(ofTenant(tenant, (await counts.recountHolds([ref])).subscriptions), []);
    },

  'what subscriptions hold is counted for all of a shard, also where a hold or a count is no number':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant, { tokens: 1_000 });
      const [rid] = [await admitted(tenant), await admitted(tenant)];
      const ref = { accountId: tenant.accountId, modelId: MODEL_ID };
      const record = keys.subscription(tenant.shard, tenant.accountId, MODEL_ID);
      const counts = countsOf(tenant);
      const ofShard = [{ ...ref, modelId: MODEL_ID + 99 }];
      assert.deepEqual(ofTenant(tenant, (await counts.recountHolds(ofShard)).subscriptions), []);
      await tenant.redis.hset(record, 'held', 'much');
      await alterHold(tenant.redis, keys.hold(tenant.shard, rid), { amt: 'much' });
      assert.deepEqual(ofTenant(tenant, (await counts.recountHolds(ofShard)).subscriptions), [
        { ...ref, before: 'much', held: 100 },
      ]);
      await tenant.epochs.clear(tenant.shard);
      await tenant.redis.hset(record, 'held', '0');
      assert.deepEqual(ofTenant(tenant, (await counts.recountHolds(ofShard)).subscriptions), []);
    },

  'a credit number that was raised in Redis is set back only as it was found, and later credits count again':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant, { tokens: 1_000 });
      const ref = { accountId: tenant.accountId, modelId: MODEL_ID };
      const record = keys.subscription(tenant.shard, tenant.accountId, MODEL_ID);
      const seq = Number(await tenant.redis.hget(record, 'cseq'));
      await tenant.redis.hset(record, 'cseq', '0000700');
      const next = {
        ...ref,
        subscriptionId: SUBSCRIPTION_ID,
        seq: seq + 1,
        deltaTokens: 5,
      };
      assert.equal((await tenant.store.credit(next)).kind, 'duplicate');
      const reset = { ...ref, id: SUBSCRIPTION_ID, foundSeq: 700, seq };
      const counts = countsOf(tenant);
      assert.equal(await counts.resetCredits({ ...reset, foundSeq: 699 }), false);
      assert.equal(await counts.resetCredits({ ...reset, id: SUBSCRIPTION_ID + 1 }), false);
      assert.equal(await counts.resetCredits(reset), true);
      assert.equal(await counts.resetCredits(reset), false);
      assert.deepEqual(await tenant.store.credit(next), { kind: 'applied', balance: 1_005 });
    },

  'a shard without its epoch, or with another, is fenced for every call': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await admitted(tenant);
    const ref = { rid, accountId: tenant.accountId, modelId: MODEL_ID };
    await tenant.epochs.clear(tenant.shard);
    const before = await contents(tenant);
    const replies = [
      await tenant.store.checkpoint({
        ...ref,
        keyHash: tenant.keyHash,
        node: 'node-1:0',
        usedTokens: 5,
        extendTokens: 5,
        leaseMs: 1,
      }),
      await tenant.store.settle({ ...ref, chargeTokens: 1, payload: '{}', reEmit: false }),
      await tenant.store.reap(ref),
      await tenant.store.admit(request(tenant)),
      await tenant.store.access({
        accountId: tenant.accountId,
        keyHash: tenant.keyHash,
        addressHex: '',
      }),
      await tenant.store.credit({
        ...ref,
        subscriptionId: SUBSCRIPTION_ID,
        seq: 2,
        deltaTokens: 5,
      }),
      await tenant.store.withdraw({
        ...ref,
        subscriptionId: SUBSCRIPTION_ID,
        withdrawalId: tenant.rid(),
        drain: false,
        creditSeq: 0,
      }),
      await tenant.live.putAccount({
        accountId: tenant.accountId,
        status: 'active',
        drain: false,
        revision: 9,
      }),
    ];
    assert.deepEqual(
      replies.map((reply) => reply.kind),
      replies.map(() => 'fenced'),
    );
    assert.deepEqual(await contents(tenant), before);
  },

  'every function but the relay and the list of reaps looks at the epoch before anything else':
    async (world) => {
      const tenant = await world.tenant();
      const { shard, accountId, keyHash, library } = tenant;
      const before = await contents(tenant);
      const functionKeys = [
        keys.epoch(shard),
        keys.key(shard, keyHash),
        keys.account(shard, accountId),
        keys.subscription(shard, accountId, MODEL_ID),
        keys.hold(shard, tenant.rid()),
        keys.holds(shard),
        keys.windows(shard, keyHash),
      ];
      const unfenced = new Set<FunctionName>(['relay', 'publish', 'unbooked_reaps']);
      for (const name of FUNCTION_NAMES.filter((other) => !unfenced.has(other))) {
        assert.deepEqual(
          await library.call(name, functionKeys, ['e0', '1', '1']),
          name === 'settle' ? ['FENCED', 'epoch'] : ['FENCED'],
          name,
        );
      }
      assert.deepEqual(await contents(tenant), before);
    },

  'a new epoch is noticed by calls that rest on nothing older, and fences what was held under the old one':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const asked = request(tenant);
      const reply = await tenant.store.admit(asked);
      assert.ok(reply.kind === 'admitted');
      await tenant.epochs.set(tenant.shard, 'e2');
      const ref = { rid: asked.rid, accountId: tenant.accountId, modelId: MODEL_ID };
      const settlement = { ...ref, chargeTokens: 1, payload: '{}', reEmit: false };
      const checkpoint = {
        ...ref,
        keyHash: tenant.keyHash,
        node: 'node-1:0',
        usedTokens: 1,
        extendTokens: 0,
        leaseMs: 60_000,
      };
      assert.deepEqual(await tenant.store.settle(settlement), { kind: 'fenced', by: 'epoch' });
      assert.equal((await tenant.store.checkpoint(checkpoint)).kind, 'fenced');
      await credit(tenant, 2, 10);
      const later = await tenant.store.admit(request(tenant));
      assert.ok(later.kind === 'admitted' && later.epoch === 'e2');
      assert.equal(
        (await tenant.store.settle({ ...settlement, epoch: reply.epoch })).kind,
        'fenced',
      );
      assert.equal(
        (await tenant.store.checkpoint({ ...checkpoint, epoch: reply.epoch })).kind,
        'fenced',
      );
    },
};

function countsOf({ library, epochCache }: Tenant): LiveCounts {
  return new LiveCounts({ library, epochs: epochCache, shards: SHARDS });
}

/** Tenants share shards. */
function ofTenant({ accountId }: Tenant, found: readonly Recounted[]): Recounted[] {
  return found.filter((each) => each.accountId === accountId);
}
