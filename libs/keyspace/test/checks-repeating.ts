import assert from 'node:assert/strict';
import type { AdmitReply } from '../src/index.ts';
import { keys } from '../src/keys.ts';
import { LostWithdrawals, type RepeatReply } from '../src/records/lost-withdrawals.ts';
import { restore, settle, withdraw } from './tenant-acts.ts';
import {
  admitted,
  funds,
  contents,
  credit,
  MODEL_ID,
  openAccount,
  putSubscription,
  request,
  SHARDS,
  SUBSCRIPTION_ID,
  type Checks,
  type Tenant,
} from './world.ts';

/** After that the marker of what was released may have expired. */
const FORGOTTEN_MS = 14 * 60_000;

/** Withdrawals of the ledger that are replayed to a Redis that lost its last writes. */
export const repeatingChecks: Checks = {
  'a withdrawal that Redis has lost is taken again, once': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const id = tenant.rid();
    assert.deepEqual(await repeat(tenant, { id, tokens: 900 }), { kind: 'repeated' });
    assert.deepEqual(await repeat(tenant, { id, tokens: 900 }), { kind: 'duplicate' });
    assert.equal((await funds(tenant))?.balance, 100);
    // The withdrawal itself, should it run once more, finds itself done.
    assert.deepEqual(await withdraw(tenant, id), { kind: 'duplicate', tokens: 900 });
  },

  'a withdrawal that Redis remembers, or an older one, changes nothing': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const [older, newer] = [tenant.rid(), tenant.rid()];
    await withdraw(tenant, older);
    await putSubscription(tenant, { generation: 2, revision: 2 });
    await credit(tenant, 2, 70);
    await withdraw(tenant, newer);
    const before = await contents(tenant);
    assert.deepEqual(await repeat(tenant, { id: older, tokens: 1_000 }), { kind: 'duplicate' });
    assert.deepEqual(await repeat(tenant, { id: newer, tokens: 70 }), { kind: 'duplicate' });
    assert.deepEqual(await contents(tenant), before);
  },

  'a record that knows of no withdrawal is not marked as withdrawn by a later write': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const id = tenant.rid();
    await putSubscription(tenant, { status: 'closed', revision: 2, withdrawalId: id });
    assert.deepEqual(await repeat(tenant, { id, tokens: 1_000 }), { kind: 'repeated' });
    assert.equal((await funds(tenant))?.balance, 0);
  },

  'what a request released is taken again after it was settled again, and before': async (
    world,
  ) => {
    for (const isSettledFirst of [true, false]) {
      const tenant = await world.tenant();
      // The ledger has 1,000 bought, 900 withdrawn beside a hold of 100, of which 60 were charged and 40 released.
      await openAccount(tenant);
      const [rid, id] = [tenant.rid(), tenant.rid()];
      if (isSettledFirst) await settle(tenant, rid, 60);
      await repeat(tenant, { id, tokens: 900 });
      assert.deepEqual(await release(tenant, { rid, id, tokens: 40 }), { kind: 'repeated' });
      assert.deepEqual(await release(tenant, { rid, id, tokens: 40 }), { kind: 'duplicate' });
      if (!isSettledFirst) await settle(tenant, rid, 60);
      assert.equal((await funds(tenant))?.balance, 0, `settled first: ${isSettledFirst}`);
      assert.equal((await settle(tenant, rid, 60, { reEmit: true })).kind, 'duplicate');
    }
  },

  'a request whose release is booked takes no hold again, so that it releases nothing twice':
    async (world) => {
      const tenant = await world.tenant();
      // The ledger has 1,000 bought, 900 withdrawn beside a hold of 100, of which 60 were charged and 40 released; then 500 bought again.
      await openAccount(tenant);
      const [rid, id] = [tenant.rid(), tenant.rid()];
      await repeat(tenant, { id, tokens: 900 });
      await release(tenant, { rid, id, tokens: 40 });
      await putSubscription(tenant, { generation: 2, revision: 2 });
      await credit(tenant, 2, 500);
      assert.deepEqual(await restore(tenant, rid), { kind: 'gone', state: 'done' });
      const again = await tenant.store.admit(request(tenant, { rid }));
      assert.deepEqual(kindAndState(again), { kind: 'duplicate', state: 'done' });
      await settle(tenant, rid, 60);
      assert.deepEqual(await funds(tenant), {
        balance: 500,
        held: 0,
        running: 0,
        status: 'active',
      });
    },

  'what a request releases that is still held is left to its settlement': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await admitted(tenant);
    const id = tenant.rid();
    await putSubscription(tenant, { status: 'closed', revision: 2 });
    await repeat(tenant, { id, tokens: 900 });
    assert.deepEqual(await release(tenant, { rid, id, tokens: 40 }), { kind: 'open' });
    await settle(tenant, rid, 60);
    assert.deepEqual(await release(tenant, { rid, id, tokens: 40 }), { kind: 'duplicate' });
    assert.equal((await funds(tenant))?.balance, 0);
  },

  'what was released so long ago that its marker may be forgotten is not taken a second time, also after the clock was ahead':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const id = tenant.rid();
      await repeat(tenant, { id, tokens: 900 });
      const releasedAtMs = tenant.clock.now;
      tenant.clock.now += FORGOTTEN_MS - 1;
      const young = { rid: tenant.rid(), id, tokens: 10, releasedAtMs };
      assert.deepEqual(await release(tenant, young), { kind: 'repeated' });
      tenant.clock.now += 1;
      const old = { ...young, rid: tenant.rid() };
      assert.deepEqual(await release(tenant, old), { kind: 'too_old' });
      tenant.clock.now += 60_000;
      assert.deepEqual(await release(tenant, old), { kind: 'too_old' });
      tenant.clock.now -= FORGOTTEN_MS;
      assert.deepEqual(await release(tenant, old), { kind: 'too_old' });
      assert.equal((await funds(tenant))?.balance, 90);
      // The time is the one that the shard has seen, which is ahead of its clock.
      const later = { ...old, rid: tenant.rid(), releasedAtMs: releasedAtMs + FORGOTTEN_MS };
      assert.deepEqual(await release(tenant, later), { kind: 'repeated' });
      const leftMs = await tenant.redis.pttl(keys.hold(tenant.shard, later.rid));
      assert.ok(leftMs > 2 * FORGOTTEN_MS, `${leftMs} ms`);
    },

  'what a request released is taken once, also after a clock that was ahead for a moment expired what it could':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const [rid, id] = [await admitted(tenant), tenant.rid()];
      await withdraw(tenant, id);
      await settle(tenant, rid, 60);
      assert.equal((await funds(tenant))?.balance, 0);
      await expireAsAhead(tenant, keys.hold(tenant.shard, rid), 24 * 60_000);
      assert.deepEqual(await release(tenant, { rid, id, tokens: 40 }), { kind: 'duplicate' });
      assert.equal((await funds(tenant))?.balance, 0);
    },

  'what was released while the clock was ahead is remembered for as long as it may be repeated, also when the shard has lost that time':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant);
      const id = tenant.rid();
      await repeat(tenant, { id, tokens: 900 });
      const rid = tenant.rid();
      const releasedAtMs = tenant.clock.now + FORGOTTEN_MS;
      assert.deepEqual(await release(tenant, { rid, id, tokens: 10, releasedAtMs }), {
        kind: 'repeated',
      });
      const leftMs = await tenant.redis.pttl(keys.hold(tenant.shard, rid));
      assert.ok(leftMs > 2 * FORGOTTEN_MS, `${leftMs} ms`);
    },

  'nothing is taken from another subscription, or for a number that is none': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const before = await contents(tenant);
    const [id, rid] = [tenant.rid(), tenant.rid()];
    const other = { id, tokens: 5, subscriptionId: SUBSCRIPTION_ID + 1 };
    assert.deepEqual(await repeat(tenant, other), { kind: 'not_found' });
    assert.deepEqual(await release(tenant, { ...other, rid }), { kind: 'not_found' });
    const subscription = keys.subscription(tenant.shard, tenant.accountId, MODEL_ID);
    for (const name of ['repeat_withdrawal', 'repeat_release'] as const)
      await assert.rejects(
        tenant.library.call(
          name,
          [keys.epoch(tenant.shard), subscription, keys.hold(tenant.shard, rid)],
          ['e1', SUBSCRIPTION_ID, id, '-5', '1'],
        ),
        /invalid repeated/,
      );
    assert.deepEqual(await contents(tenant), before);
  },
};

function kindAndState(reply: AdmitReply): Pick<AdmitReply, 'kind'> & { state?: string } {
  return reply.kind === 'duplicate' ? { kind: reply.kind, state: reply.state } : reply;
}

interface Repeated {
  id: string;
  tokens: number;
  subscriptionId?: number;
}

interface Release {
  rid: string;
  releasedAtMs?: number;
}

function requestOf(tenant: Tenant, { id, tokens, subscriptionId = SUBSCRIPTION_ID }: Repeated) {
  const { accountId } = tenant;
  return { accountId, modelId: MODEL_ID, subscriptionId, withdrawalId: id, tokens };
}

function repeat(tenant: Tenant, repeated: Repeated): Promise<RepeatReply> {
  return storeOf(tenant).repeatWithdrawal(requestOf(tenant, repeated));
}

function release(
  tenant: Tenant,
  { rid, releasedAtMs = tenant.clock.now, ...repeated }: Repeated & Release,
): Promise<RepeatReply> {
  return storeOf(tenant).repeatRelease({ ...requestOf(tenant, repeated), rid, releasedAtMs });
}

function storeOf({ library, epochCache, clock }: Tenant): LostWithdrawals {
  const now = (): number => clock.now;
  return new LostWithdrawals({ library, epochs: epochCache, shards: SHARDS, now });
}

/** Removes the key if Redis would with a clock that is ahead by so much. */
async function expireAsAhead({ redis }: Tenant, key: string, aheadMs: number): Promise<void> {
  const leftMs = await redis.pttl(key);
  assert.ok(leftMs > 0, `${leftMs} ms`);
  if (leftMs <= aheadMs) await redis.del(key);
}
