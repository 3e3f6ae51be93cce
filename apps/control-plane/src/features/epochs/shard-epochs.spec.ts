import { describe, expect, jest, test } from '@jest/globals';
import { Epochs, forgetShard, shardOf } from '@tollgate/keyspace';
import { alterHold, eventually, readHold } from '@tollgate/harness';
import { keysOf } from '../../testing/drift-under-test.ts';
import { ledger, plane, shareLedgerPlane } from '../../testing/ledger-plane-under-test.ts';
import { usageEvent } from '../../testing/ledger-under-test.ts';
import { nodesStoreOf, readFromOutbox, reapedRequest } from '../../testing/reaped-under-test.ts';
import { ADVISORY_LOCK_FAMILIES } from '../../platform/database/advisory-locks.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { WrongTypes } from '../reconciliation/wrong-types.ts';
import { UsageWorker } from '../usage/ingest/usage-worker.ts';
import { EpochsService } from './epochs.service.ts';
import { ShardFiller } from './shard-filler.ts';

shareLedgerPlane();

describe('a shard whose data in Redis is from before it was lost', () => {
  const stale = async () => {
    const [account, model] = [await ledger.account('10'), await ledger.model('1')];
    await plane.call('POST', '/models/subscribe', {
      token: account.token,
      body: { model_id: model.id, tokens: 1_000 },
    });
    const shard = shardOf(account.id, Number(plane.environment['SHARDS']));
    // The shard is filled once, so that PostgreSQL knows its epoch.
    await plane.app.get(Epochs).clear(shard);
    await plane.app.get(EpochsService, { strict: false }).ensureAll();
    const isOpen = async () => expect(await plane.app.get(Epochs).isOpen(shard)).toBe(true);
    await eventually(isOpen);
    const record = keysOf(plane, account.id, model.id);
    const redis = plane.app.get(REDIS);
    await redis.hset(record, { bal: '5000', held: '700', conc: '2' });
    await redis.zadd(`{${shard}}:holds`, 1, '01900000-0000-7000-8000-000000000001');
    await alterHold(redis, `{${shard}}:hold:01900000-0000-7000-8000-000000000001`, { st: 'open' });
    return { account, model, shard };
  };

  test('is filled again from PostgreSQL under a new epoch, with an alert', async () => {
    const { account, model, shard } = await stale();
    await plane.app.get(Epochs).set(shard, 'of-an-old-file');
    await plane.app.get(EpochsService, { strict: false }).ensureAll();
    await eventually(async () =>
      expect(await ledger.live(account, model)).toMatchObject({
        balance: 1_000,
        held: 0,
        running: 0,
      }),
    );
    const [row] = await ledger.query('SELECT epoch FROM shard_epochs WHERE shard = $1', [shard]);
    expect(await plane.app.get(Epochs).read(shard)).toBe(row.epoch);
    const hold = `{${shard}}:hold:01900000-0000-7000-8000-000000000001`;
    expect(await plane.app.get(REDIS).exists(hold)).toBe(0);
    const alerts = await ledger.query(
      `SELECT message FROM alerts WHERE rule = 'redis_data_lost' AND subject = $1 AND message LIKE '%another epoch%'`,
      [`shard:${shard}`],
    );
    expect(alerts).toHaveLength(1);
  });

  test('is filled from PostgreSQL too when it is PostgreSQL that lost the change of epoch: what is booked before, meanwhile and after is debited once', async () => {
    const { account, model, shard } = await stale();
    const { id: subscriptionId } = await ledger.subscription(account, model);
    const epoch = (await plane.app.get(Epochs).read(shard)) ?? '';
    const event = () => ({ ...usageEvent(100, { account, model, subscriptionId }), shard, epoch });
    const book = (relayed: ReturnType<typeof event>) =>
      plane.app.get(UsageWorker).process([relayed]);
    const [before, meanwhile, after] = [event(), event(), event()];
    await book(before);
    await ledger.query("UPDATE shard_epochs SET epoch = 'of-an-older-time' WHERE shard = $1", [
      shard,
    ]);
    await book(meanwhile);
    await plane.app.get(EpochsService, { strict: false }).ensureAll();
    await book(after);
    for (const again of [before, meanwhile, after]) await book(again);
    await eventually(async () => expect(await plane.app.get(Epochs).isOpen(shard)).toBe(true));
    expect(Number((await ledger.subscription(account, model)).balance)).toBe(700);
    await eventually(async () =>
      expect(await ledger.live(account, model)).toMatchObject({
        balance: 700,
        held: 0,
        running: 0,
      }),
    );
    expect(await ledger.violations()).toEqual({});
  });

  test('debits once, in the new epoch, usage of the old one that is booked when the last record has just been read', async () => {
    const { account, model, shard } = await stale();
    const { id: subscriptionId } = await ledger.subscription(account, model);
    const epoch = (await plane.app.get(Epochs).read(shard)) ?? '';
    const event = { ...usageEvent(100, { account, model, subscriptionId }), shard, epoch };
    const filler = plane.app.get(ShardFiller, { strict: false });
    const fill = filler.fill.bind(filler);
    const watched = jest.spyOn(filler, 'fill').mockImplementation(async (filled) => {
      await fill(filled);
      if (filled === shard) await plane.app.get(UsageWorker).process([event]);
    });
    try {
      await plane.app.get(Epochs).clear(shard);
      await plane.app.get(EpochsService, { strict: false }).ensureAll();
      await eventually(async () => expect(watched).toHaveBeenCalledWith(shard));
      await eventually(async () => expect(await plane.app.get(Epochs).isOpen(shard)).toBe(true));
    } finally {
      watched.mockRestore();
    }
    expect(Number((await ledger.subscription(account, model)).balance)).toBe(900);
    // The shard's own credit explains the balance; no later look has found that Redis has too much.
    expect(
      await ledger.query(
        "SELECT delta::int, kind FROM token_credits WHERE subscription_id = $1 AND kind <> 'subscribe'",
        [subscriptionId],
      ),
    ).toEqual([{ delta: -100, kind: 'late_usage' }]);
    await eventually(async () =>
      expect(await ledger.live(account, model)).toMatchObject({ balance: 900 }),
    );
  });

  test('is found by the regular looks', async () => {
    const { account, model, shard } = await stale();
    await plane.app.get(Epochs).set(shard, 'of-an-old-file');
    await eventually(async () =>
      expect(await ledger.live(account, model)).toMatchObject({ balance: 1_000, held: 0 }),
    );
  });

  describe.each([
    ['is of an old file', (shard: string) => plane.app.get(Epochs).set(shard, 'of-an-old-file')],
    [
      'belongs to a fill that was interrupted',
      (shard: string) => plane.app.get(Epochs).beginRebuild(shard, 'of-a-process-that-died'),
    ],
    [
      'is taken by an operator who has the shard filled again',
      (shard: string) => forgetShard(plane.app.get(REDIS), shard, { keepsReaps: true }),
    ],
    ['alone is lost', (shard: string) => plane.app.get(Epochs).clear(shard)],
    [
      'is of a type that Tollgate does not write',
      async (shard: string) => {
        await plane.app
          .get(REDIS)
          .multi()
          .del(`{${shard}}:epoch`)
          .rpush(`{${shard}}:epoch`, '1')
          .exec();
        await plane.app.get(WrongTypes, { strict: false }).repairShards();
      },
    ],
  ])('when its epoch %s', (_what, mark) => {
    const refilled = async (shard: string) => {
      await mark(shard);
      await plane.app.get(EpochsService, { strict: false }).ensureAll();
      await eventually(async () => expect(await plane.app.get(Epochs).isOpen(shard)).toBe(true));
      // The events that its outbox still has are relayed under the new epoch.
      await (
        await readFromOutbox(plane, shard)
      )();
    };
    const charges = (rid: string) =>
      ledger.query('SELECT seq, delta::int FROM usage_events WHERE rid = $1 ORDER BY seq', [rid]);
    const reaped = async () => {
      const { account, model, shard } = await stale();
      await plane.app
        .get(REDIS)
        .hset(keysOf(plane, account.id, model.id), { held: '0', conc: '0' });
      const rid = await reapedRequest(plane, { account, model }, 300);
      expect(await charges(rid)).toEqual([]);
      return { account, model, shard, rid };
    };
    const balanceIs = (parts: Parameters<typeof ledger.live>, balance: number) =>
      eventually(async () =>
        expect(await ledger.live(...parts)).toMatchObject({ balance, held: 0 }),
      );

    test('a charge of a request whose node is gone is booked once, and debited once while its event stands in the outbox', async () => {
      const { account, model, shard, rid } = await reaped();
      await refilled(shard);
      expect(await charges(rid)).toEqual([{ seq: 0, delta: 300 }]);
      await balanceIs([account, model], 700);
      // Its node may come back after all: what it corrects stands on the charge that is booked.
      expect(await readHold(plane.app.get(REDIS), `{${shard}}:hold:${rid}`)).toMatchObject({
        st: 'reaped',
      });
      expect(await ledger.violations()).toEqual({});
    });

    test('the correction of such a charge by its node is booked and debited too', async () => {
      const { account, model, shard, rid } = await reaped();
      const { id: subscriptionId } = await ledger.subscription(account, model);
      const { payload } = usageEvent(400, { account, model, subscriptionId, rid });
      const epoch = (await plane.app.get(Epochs).read(shard)) ?? '';
      const final = { rid, epoch, accountId: account.id, modelId: model.id };
      expect(
        await nodesStoreOf(plane).settle({ ...final, chargeTokens: 400, payload, reEmit: false }),
      ).toMatchObject({ kind: 'settled' });
      await refilled(shard);
      expect(await charges(rid)).toEqual([
        { seq: 0, delta: 300 },
        { seq: 1, delta: 100 },
      ]);
      await balanceIs([account, model], 600);
      expect(await ledger.violations()).toEqual({});
    });
  });

  test('is debited once of what was read from its outbox while it had no epoch, and is booked after it was filled', async () => {
    const { account, model, shard } = await stale();
    await plane.app.get(REDIS).hset(keysOf(plane, account.id, model.id), { held: '0', conc: '0' });
    const rid = await reapedRequest(plane, { account, model }, 300);
    await plane.app.get(Epochs).clear(shard);
    const book = await readFromOutbox(plane, shard);
    await plane.app.get(REDIS).del(`{${shard}}:reaped`);
    await plane.app.get(EpochsService, { strict: false }).ensureAll();
    await eventually(async () => expect(await plane.app.get(Epochs).isOpen(shard)).toBe(true));
    await book();
    expect(await ledger.query('SELECT delta::int FROM usage_events WHERE rid = $1', [rid])).toEqual(
      [{ delta: 300 }],
    );
    await eventually(async () =>
      expect(await ledger.live(account, model)).toMatchObject({ balance: 700 }),
    );
  });

  test('keeps nothing of it where the fill was interrupted, nor the trace of a request whose event it forgets', async () => {
    const { account, model, shard } = await stale();
    const redis = plane.app.get(REDIS);
    const rids = ['01900000-0000-7000-8000-00000000000a', '01900000-0000-7000-8000-00000000000b'];
    const [settled, corrected] = rids.map((rid) => `{${shard}}:hold:${rid}`) as [string, string];
    await alterHold(redis, settled, { st: 'done' });
    await alterHold(redis, corrected, { st: 'done' });
    for (const [at, rid] of rids.entries()) {
      const event = ['rid', rid, 'seq', String(at), 'delta', '1', 'payload', '{}'];
      await redis.xadd(`{${shard}}:outbox`, '*', ...event);
    }
    await plane.app.get(Epochs).beginRebuild(shard, 'of-a-process-that-died');
    await plane.app.get(EpochsService, { strict: false }).ensureAll();
    await eventually(async () => expect(await plane.app.get(Epochs).isOpen(shard)).toBe(true));
    expect(await ledger.live(account, model)).toMatchObject({ balance: 1_000, held: 0 });
    // A correction stands on a charge that is booked, under the number that its marker knows.
    expect([await redis.exists(settled), await redis.exists(corrected)]).toEqual([0, 1]);
    expect(await redis.xlen(`{${shard}}:outbox`)).toBe(0);
  });

  test('is left as it is while a restore is open: Redis is what shows the loss', async () => {
    const { account, model, shard } = await stale();
    await ledger.query(
      'INSERT INTO restores (backup_id, taken_at) VALUES (gen_random_uuid(), now())',
    );
    await plane.app.get(Epochs).set(shard, 'of-a-newer-time');
    await plane.app.get(EpochsService, { strict: false }).ensureAll();
    expect(await ledger.live(account, model)).toMatchObject({ balance: 5_000, held: 700 });
    await ledger.query('UPDATE restores SET closed_at = now()');
  });
});

test('what is booked after its shard was filled says so, also where its transaction began before', async () => {
  const [account, model] = [await ledger.account('10'), await ledger.model('1')];
  await plane.call('POST', '/models/subscribe', {
    token: account.token,
    body: { model_id: model.id, tokens: 1_000 },
  });
  const { id: subscriptionId } = await ledger.subscription(account, model);
  const index = account.id % Number(plane.environment['SHARDS']);
  const shard = `s${String(index).padStart(2, '0')}`;
  const event = usageEvent(100, { account, model, subscriptionId });
  // A change of epoch does the same, with a booking that comes just after its beginning.
  const booked = await plane.dataSource.transaction(async (tx) => {
    await tx.query('SELECT pg_advisory_xact_lock($1, $2)', [
      ADVISORY_LOCK_FAMILIES.shardEpoch,
      index,
    ]);
    const booking = plane.app.get(UsageWorker).process([{ ...event, shard }]);
    const waits = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
    await eventually(async () => expect(await ledger.query(waits)).toHaveLength(1));
    await tx.query(
      `INSERT INTO shard_epochs (shard, epoch, updated_at) VALUES ($1, 'next', clock_timestamp())
       ON CONFLICT (shard) DO UPDATE SET epoch = excluded.epoch, updated_at = excluded.updated_at`,
      [shard],
    );
    return { done: booking };
  });
  await booked.done;
  const rows = await ledger.query(
    `SELECT u.created_at > e.updated_at AS "isLater" FROM usage_events u, shard_epochs e WHERE u.rid = $1 AND e.shard = $2`,
    [event.rid, shard],
  );
  expect(rows).toEqual([{ isLater: true }]);
});
