import assert from 'node:assert/strict';
import { alterHold, readHold } from '@tollgate/harness';
import { usageReapSchema } from '@tollgate/contracts';
import { keys } from '../src/keys.ts';
import { LiveCounts, LostWithdrawals } from '../src/index.ts';
import { checkpoint, reapedAt, refOf, settle, withdraw } from './tenant-acts.ts';
import {
  admitted,
  credit,
  drain,
  MODEL_ID,
  openAccount,
  putSubscription,
  request,
  SHARDS,
  SUBSCRIPTION_ID,
  type Checks,
  type Tenant,
} from './world.ts';

const DAY_MS = 24 * 60 * 60_000;

function countsOf({ library, epochCache }: Tenant): LiveCounts {
  return new LiveCounts({ library, epochs: epochCache, shards: SHARDS });
}

async function outcome(tenant: Tenant, changes: Parameters<typeof request>[1]) {
  const reply = await tenant.store.admit(request(tenant, changes));
  return reply.kind === 'admitted' ? reply.grantedTokens : reply.kind;
}

/** Checks cases at an edge, each of which a broken function once passed. */
export const boundaryChecks: Checks = {
  'the event of a reap carries the MAC of its hold': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await admitted(tenant);
    const mac = 'ab'.repeat(32);
    await alterHold(tenant.redis, keys.hold(tenant.shard, rid), { mac });
    tenant.clock.now += 60_000;
    await tenant.store.reap(refOf(tenant, rid));
    const [event] = await drain(tenant);
    const { mac: found, ...payload } = JSON.parse(event?.payload ?? '');
    assert.equal(found, mac);
    assert.equal(usageReapSchema.parse(payload).node, 'node-1:0');
  },

  'a subscription that runs nothing is counted when it is named, and an ended hold in the index counts for nothing':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const ref = { accountId: tenant.accountId, modelId: MODEL_ID };
      const record = keys.subscription(tenant.shard, tenant.accountId, MODEL_ID);
      const rid = await admitted(tenant);
      await settle(tenant, rid, 1);
      await tenant.redis.zadd(keys.holds(tenant.shard), 1, rid);
      await tenant.redis.hset(record, 'held', '70', 'conc', '1');
      assert.deepEqual((await countsOf(tenant).recountHolds([ref])).subscriptions, [
        { ...ref, before: '70', held: 0 },
      ]);
      assert.deepEqual(await tenant.redis.hmget(record, 'held', 'conc'), ['0', '0']);
    },

  'the mark of a release that was repeated is kept for a day': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const { redis, library, epochCache: epochs, accountId } = tenant;
    const [rid, withdrawalId] = [tenant.rid(), tenant.rid()];
    await withdraw(tenant, withdrawalId);
    const now = (): number => tenant.clock.now;
    const lost = new LostWithdrawals({ library, epochs, shards: SHARDS, now });
    const release = { rid, withdrawalId, subscriptionId: SUBSCRIPTION_ID, tokens: 5 };
    const releasedAtMs = now();
    await lost.repeatRelease({ ...release, releasedAtMs, accountId, modelId: MODEL_ID });
    const leftMs = await redis.pttl(keys.hold(tenant.shard, rid));
    assert.ok(leftMs > DAY_MS - 60_000 && leftMs <= DAY_MS + 60_000, `${leftMs} ms`);
  },

  'what fits to the token is admitted, whatever auto-recharge is due to buy': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 130 });
    await putSubscription(tenant, { autoRecharge: { threshold: 130, amount: 50 }, revision: 2 });
    // One purchase of 50 is due: it brings all of the first, and not all of the second.
    const first = request(tenant, { wantTokens: 180, minTokens: 130 });
    const reply = await tenant.store.admit(first);
    assert.equal(reply.kind === 'admitted' && reply.grantedTokens, 130);
    await settle(tenant, first.rid, 0);
    assert.equal(await outcome(tenant, { wantTokens: 200, minTokens: 130, isWhole: true }), 130);
  },

  'a balance of just what a request needs is no need of auto-recharge': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 130 });
    await admitted(tenant);
    await putSubscription(tenant, { autoRecharge: { threshold: 29, amount: 101 }, revision: 2 });
    assert.equal(await outcome(tenant, { wantTokens: 130, minTokens: 130 }), 'tokens_held');
    assert.equal(await outcome(tenant, { wantTokens: 131, minTokens: 131 }), 'recharge_due');
  },

  'a request whose minimum is half of what is free takes that half': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 100 });
    const half = { wantTokens: 100, minTokens: 50, leavesHalf: true };
    assert.equal(await outcome(tenant, half), 50);
  },

  'a checkpoint that asks for nothing waits for nothing while holds are restored': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await admitted(tenant);
    await tenant.epochs.beginRebuild(tenant.shard, 'e1');
    assert.equal(await tenant.epochs.beginRestoring(tenant.shard, 'e1'), true);
    const reply = await checkpoint(tenant, rid, { extendTokens: 0 });
    assert.equal(reply.kind === 'ok' && reply.isRechargeDue, false);
    assert.equal(reply.kind, 'ok');
    assert.equal(await tenant.epochs.open(tenant.shard, 'e1'), true);
    assert.equal(await tenant.epochs.isOpen(tenant.shard), true);
  },

  'numbers that are none are refused by inquiries and by credits that are set back': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const { shard, accountId, library, keyHash } = tenant;
    const record = keys.subscription(shard, accountId, MODEL_ID);
    for (const seqs of [
      ['x', '1'],
      ['1', 'x'],
    ])
      await assert.rejects(
        library.call(
          'reset_credits',
          [keys.epoch(shard), record],
          ['e1', SUBSCRIPTION_ID, ...seqs],
        ),
        /invalid credit seq/,
      );
    const asked = [
      ...[keys.epoch(shard), keys.key(shard, keyHash), keys.account(shard, accountId)],
      ...[keys.subscribedModels(shard, accountId), keys.inquiries(shard, keyHash)],
    ];
    await assert.rejects(
      library.call('inquire', asked, ['e1', accountId, '', '-1', '1', tenant.clock.now]),
      /invalid inquiry/,
    );
  },

  'a corrected reap leaves again with the MAC of its hold; the marker of another request keeps none':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const mac = 'ab'.repeat(32);
      const macOf = async (rid: string) =>
        (await readHold(tenant.redis, keys.hold(tenant.shard, rid)))?.['mac'];
      const settled = await admitted(tenant);
      await alterHold(tenant.redis, keys.hold(tenant.shard, settled), { mac });
      await settle(tenant, settled, 1);
      assert.equal(await macOf(settled), undefined);
      const reaped = await reapedAt(tenant, 40);
      await alterHold(tenant.redis, keys.hold(tenant.shard, reaped), { mac });
      await settle(tenant, reaped, 90);
      await drain(tenant);
      await settle(tenant, reaped, 90, { reEmit: true });
      const [event] = await drain(tenant);
      assert.equal(JSON.parse(event?.payload ?? '').mac, mac);
    },

  'a reap releases into a withdrawal what its hold kept unused, and nothing of a later credit':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const rid = await admitted(tenant);
      await withdraw(tenant, tenant.rid());
      await credit(tenant, 2, 500);
      await checkpoint(tenant, rid, { usedTokens: 40 });
      tenant.clock.now += 60_000;
      await tenant.store.reap(refOf(tenant, rid));
      const released = (await drain(tenant)).filter(
        (event) => event.rid === rid && event.seq === '2',
      );
      assert.deepEqual(
        released.map(({ delta }) => delta),
        ['60'],
      );
    },

  'the latest time of a shard does not go back with the clock': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const latest = String(tenant.clock.now + 500);
    await tenant.redis.set(keys.latestTime(tenant.shard), latest);
    await settle(tenant, await admitted(tenant), 1);
    assert.equal(await tenant.redis.get(keys.latestTime(tenant.shard)), latest);
  },

  'a subscription whose auto-recharge is switched off has neither threshold nor amount': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const record = keys.subscription(tenant.shard, tenant.accountId, MODEL_ID);
    const armed = () => tenant.redis.hmget(record, 'rthr', 'ramt');
    await putSubscription(tenant, { autoRecharge: { threshold: 5, amount: 7 }, revision: 2 });
    assert.deepEqual(await armed(), ['5', '7']);
    await putSubscription(tenant, { revision: 3 });
    assert.deepEqual(await armed(), [null, null]);
  },
};
