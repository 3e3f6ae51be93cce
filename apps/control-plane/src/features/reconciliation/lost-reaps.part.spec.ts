import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { alterHold } from '@tollgate/harness';
import { ReapedRequests, shardOf, type RedisConnection } from '@tollgate/keyspace';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { ledgerOf, type TestAccount } from '../../testing/ledger-under-test.ts';
import { nodesStoreOf, reapedRequest } from '../../testing/reaped-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { UsageWorker } from '../usage/ingest/usage-worker.ts';
import { Reconciler } from './reconciler.service.ts';

const BOUGHT = 10_000;

let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
let redis: RedisConnection;
let account: TestAccount;
let model: Awaited<ReturnType<typeof ledger.model>>;
let shard = '';

/** Runs a round, while relay and worker do what they always do. */
async function round(): Promise<void> {
  const [store, worker] = [nodesStoreOf(plane), plane.app.get(UsageWorker, { strict: false })];
  const over = new AbortController();
  const polled = async (relayedIds: string[]): Promise<string[]> => {
    const reply = await store.relay(shard, {
      ...{ owner: 'relay', leaseMs: 5_000, relayedIds },
      ...{ entriesMax: 50, bytesMax: 100_000, expiredHoldsMax: 0 },
    });
    if (reply.kind !== 'leased') throw new Error('the shard has another relay');
    await worker.process(reply.entries);
    return reply.entries.map(({ outboxId }) => outboxId);
  };
  const relaying = (async () => {
    let relayedIds: string[] = [];
    while (!over.signal.aborted) relayedIds = await polled(relayedIds);
    await store.releaseRelay(shard, { owner: 'relay', relayedIds });
  })();
  const reconciler = plane.app.get(Reconciler, { strict: false });
  await reconciler.runAlone({ pauseMs: 10 }).finally(() => over.abort());
  await relaying;
}

const loseEvent = (): Promise<unknown> => redis.xtrim(`{${shard}}:outbox`, 'MAXLEN', 0);
const chargesOf = (rid: string): Promise<{ seq: number; delta: number }[]> =>
  ledger.query('SELECT seq, delta::int FROM usage_events WHERE rid = $1', [rid]);
const alerts = async (): Promise<{ severity: string; message: string; isOpen: boolean }[]> => {
  const { id } = await ledger.subscription(account, model);
  return ledger.query(
    `SELECT severity, message, resolved_at IS NULL AS "isOpen" FROM alerts WHERE rule = 'drift' AND subject = $1`,
    [`subscription:${id}`],
  );
};

describe('the charge of a reaped request, whose node is gone', () => {
  beforeAll(async () => {
    plane = await sharedControlPlane();
    ledger = ledgerOf(plane);
    redis = plane.app.get(REDIS);
    await ledger.initialiseShards();
  }, 60_000);

  beforeEach(async () => {
    [account, model] = [await ledger.account('1000'), await ledger.model('1')];
    shard = shardOf(account.id, Number(plane.environment['SHARDS']));
    // An earlier spec may have left a lease.
    await redis.del(`{${shard}}:relay`);
    await plane.call('POST', '/models/subscribe', {
      token: account.token,
      body: { model_id: model.id, tokens: BOUGHT },
    });
  });

  test('is booked once when its event was lost on its way, with a critical alert that closes when it has arrived', async () => {
    const rid = await reapedRequest(plane, { account, model }, 700);
    await loseEvent();
    await round();
    expect(await chargesOf(rid)).toEqual([{ seq: 0, delta: 700 }]);
    expect(await alerts()).toEqual([
      {
        severity: 'critical',
        message: expect.stringContaining(`the charge of request ${rid}, 700 tokens, was lost`),
        isOpen: true,
      },
    ]);
    await round();
    expect(await alerts()).toEqual([expect.objectContaining({ isOpen: false })]);
    expect(await chargesOf(rid)).toEqual([{ seq: 0, delta: 700 }]);
    expect(await ledger.live(account, model)).toMatchObject({
      ...{ balance: BOUGHT - 700, held: 0, creditSeq: 1 },
    });
    expect(await ledger.violations()).toEqual({});
  });

  test('is booked also where minted tokens hide the difference; they are taken out again', async () => {
    const rid = await reapedRequest(plane, { account, model }, 700);
    await loseEvent();
    await redis.hincrby(`{${shard}}:sub:${account.id}:${model.id}`, 'bal', 700);
    await round();
    await round();
    expect(await chargesOf(rid)).toEqual([{ seq: 0, delta: 700 }]);
    expect(await ledger.live(account, model)).toMatchObject({ balance: BOUGHT - 700 });
  });

  test('is booked although another program wrote ids and holds among the reaped ones', async () => {
    const rid = await reapedRequest(plane, { account, model }, 700);
    await loseEvent();
    await redis.zadd(`{${shard}}:reaped`, 0, 'ffffffff-ffff-7fff-bfff-ffffffffffff');
    await expect(round()).resolves.toBeUndefined();
    await redis.zrem(`{${shard}}:reaped`, 'ffffffff-ffff-7fff-bfff-ffffffffffff');
    await redis.set(`{${shard}}:hold:00000000-0000-7000-8000-000000000000`, 'of another');
    await redis.zadd(`{${shard}}:reaped`, 0, '00000000-0000-7000-8000-000000000000');
    await round();
    expect(await chargesOf(rid)).toEqual([{ seq: 0, delta: 700 }]);
    await redis.zrem(`{${shard}}:reaped`, '00000000-0000-7000-8000-000000000000');
    await redis.del(`{${shard}}:hold:00000000-0000-7000-8000-000000000000`);
  });

  test('is not sent again once it is a dead letter, and raises no drift any more', async () => {
    const rid = await reapedRequest(plane, { account, model }, 700);
    await loseEvent();
    await alterHold(redis, `{${shard}}:hold:${rid}`, { price: '2000000000' });
    await round();
    const letters = await ledger.query('SELECT seq FROM usage_dead_letters WHERE rid = $1', [rid]);
    expect(letters).toEqual([{ seq: '0' }]);
    await round();
    expect(await redis.zscore(`{${shard}}:reaped`, rid)).toBeNull();
    const last = await plane.app.get(ReapedRequests).lastEvent(shard);
    await round();
    expect(await plane.app.get(ReapedRequests).lastEvent(shard)).toBe(last);
  });

  test.each(['open', 'dismissed'])(
    'is booked although a forged event has left a dead letter of its number, %s',
    async (state) => {
      const rid = await reapedRequest(plane, { account, model }, 700);
      await loseEvent();
      const forged = { ...{ shard: '', epoch: '', outboxId: '', rid }, seq: '0', delta: '700' };
      const worker = plane.app.get(UsageWorker, { strict: false });
      await worker.process([{ ...forged, payload: '{"kind":"reap"}' }]);
      if (state === 'dismissed')
        await ledger.query(
          "UPDATE usage_dead_letters SET resolved_at = now(), resolution = 'dismissed', note = 'forged' WHERE rid = $1",
          [rid],
        );
      await round();
      expect(await chargesOf(rid)).toEqual([{ seq: 0, delta: 700 }]);
    },
  );

  test('is neither sent again nor reported while it is on its way', async () => {
    const lastEvent = () => plane.app.get(ReapedRequests).lastEvent(shard);
    const rid = await reapedRequest(plane, { account, model }, 700);
    const last = await lastEvent();
    await round();
    expect(await chargesOf(rid)).toEqual([{ seq: 0, delta: 700 }]);
    expect([await lastEvent(), await alerts()]).toEqual([last, []]);
    expect(await redis.zcard(`{${shard}}:reaped`)).toBe(0);
  });
});
