import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import { keysOf } from '../../testing/drift-under-test.ts';
import { ledgerOf, usageEvent, type TestAccount } from '../../testing/ledger-under-test.ts';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { keysLike, LiveRecords, shardOf } from '@tollgate/keyspace';
import { eventually } from '@tollgate/harness';
import { LiveRecordWriter } from '../live-state/live-record-writer.ts';
import { EpochsService } from '../epochs/epochs.service.ts';
import { UsageWorker } from '../usage/ingest/usage-worker.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { Reconciler } from './reconciler.service.ts';

let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
let reconciler: Reconciler;
beforeAll(async () => {
  plane = await sharedControlPlane();
  ledger = ledgerOf(plane);
  reconciler = plane.app.get(Reconciler, { strict: false });
  await ledger.initialiseShards();
}, 60_000);

const round = () => reconciler.runAlone({ pauseMs: 50 });

async function subscribed(
  tokens: number,
): Promise<{ account: TestAccount; model: { id: number; priceId: number }; id: number }> {
  const [account, model] = [await ledger.account('1000'), await ledger.model('1')];
  await plane.call('POST', '/models/subscribe', {
    token: account.token,
    body: { model_id: model.id, tokens },
  });
  return { account, model, id: (await ledger.subscription(account, model)).id };
}

describe('balances in Redis', () => {
  test('that drifted by anything from 1 to 10^6 are repaired once, with an alert that ends when they are clean', async () => {
    const amounts = [1, -1, 10, -100, 1_000, -10_000, 100_000, -1_000_000];
    const drifted = await Promise.all(
      amounts.map(async (amount) => ({ amount, ...(await subscribed(2_000_000)) })),
    );
    for (const { account, model, amount } of drifted)
      await plane.app.get(REDIS).hincrby(keysOf(plane, account.id, model.id), 'bal', amount);
    expect(await round()).toBe(amounts.length);
    for (const { account, model, id, amount } of drifted) {
      await eventually(async () =>
        expect(await ledger.live(account, model)).toMatchObject({
          balance: 2_000_000,
          creditSeq: 2,
        }),
      );
      expect(
        await ledger.query(
          "SELECT delta::int FROM token_credits WHERE subscription_id = $1 AND kind = 'reconciliation'",
          [id],
        ),
      ).toEqual([{ delta: -amount }]);
      expect(
        await ledger.query("SELECT resolved_at FROM alerts WHERE rule = 'drift' AND subject = $1", [
          `subscription:${id}`,
        ]),
      ).toEqual([{ resolved_at: null }]);
    }
    expect(await round()).toBe(0);
    expect(
      await ledger.query(
        "SELECT count(*)::int AS open FROM alerts WHERE rule = 'drift' AND resolved_at IS NULL",
      ),
    ).toEqual([{ open: 0 }]);
    expect(await ledger.violations()).toEqual({});
  });

  test('get back, within one look and without a later write, a purchase that Redis has lacked for 10 s, once, with an alert that ends when it is there', async () => {
    const { account, model, id } = await subscribed(1_000);
    for (const tokens of [500, 30])
      await plane.call('POST', '/models/renew', {
        token: account.token,
        body: { model_id: model.id, tokens },
      });
    const full = { balance: 1_530, creditSeq: 3 };
    await eventually(async () => expect(await ledger.live(account, model)).toMatchObject(full));
    const drifts = () =>
      ledger.query(
        "SELECT message, resolved_at IS NULL AS open FROM alerts WHERE rule = 'drift' AND subject = $1",
        [`subscription:${id}`],
      );
    await plane.app
      .get(REDIS)
      .hset(keysOf(plane, account.id, model.id), { bal: '1000', cseq: '1' });
    expect(await round()).toBe(0);
    expect(await drifts()).toEqual([]);
    await ledger.query(
      "UPDATE token_credits SET created_at = created_at - interval '10 seconds' WHERE subscription_id = $1",
      [id],
    );
    expect(await round()).toBe(1);
    await eventually(async () => expect(await ledger.live(account, model)).toMatchObject(full));
    const message = `Subscription ${id}: Redis has lost credits: it had 3 and has 1; the others are sent again`;
    expect(await drifts()).toEqual([{ message, open: true }]);
    expect(await round()).toBe(0);
    expect(await drifts()).toEqual([{ message, open: false }]);
    expect(await ledger.live(account, model)).toMatchObject(full);
    expect(await ledger.subscription(account, model)).toMatchObject({ credit_seq: '3' });
  });

  test('wait for a purchase that is on its way to Redis, without an alert', async () => {
    const { account, model, id } = await subscribed(1_000);
    await eventually(async () =>
      expect(await ledger.live(account, model)).toMatchObject({ creditSeq: 1 }),
    );
    await ledger.query(
      "INSERT INTO token_credits (subscription_id, seq, delta, kind) VALUES ($1, 2, 500, 'renew')",
      [id],
    );
    await ledger.query(
      'UPDATE subscriptions SET credit_seq = 2, balance = balance + 500 WHERE id = $1',
      [id],
    );
    expect(await round()).toBe(0);
    // However long ago it was: its write is promised.
    await ledger.query(
      "UPDATE token_credits SET created_at = now() - interval '1 minute' WHERE subscription_id = $1 AND seq = 2",
      [id],
    );
    await ledger.query(
      "INSERT INTO live_state_outbox (kind, target_id, created_at) VALUES ('subscription', $1, now() + interval '1 hour')",
      [id],
    );
    expect(await round()).toBe(0);
    await ledger.query('DELETE FROM live_state_outbox WHERE target_id = $1', [id]);
    const subject = `subscription:${id}`;
    expect(await ledger.query('SELECT id FROM alerts WHERE subject = $1', [subject])).toEqual([]);
    await ledger.query(
      'UPDATE subscriptions SET credit_seq = 1, balance = balance - 500 WHERE id = $1',
      [id],
    );
    await ledger.query('DELETE FROM token_credits WHERE subscription_id = $1 AND seq = 2', [id]);
  });

  test('wait for a repair that is on its way to Redis, and are not repaired twice', async () => {
    const { account, model, id } = await subscribed(1_000);
    await eventually(async () =>
      expect(await ledger.live(account, model)).toMatchObject({ creditSeq: 1 }),
    );
    await plane.app.get(REDIS).hincrby(keysOf(plane, account.id, model.id), 'bal', 5);
    await ledger.query(
      "INSERT INTO token_credits (subscription_id, seq, delta, kind) VALUES ($1, 2, -5, 'reconciliation')",
      [id],
    );
    await ledger.query('UPDATE subscriptions SET credit_seq = 2 WHERE id = $1', [id]);
    expect(await round()).toBe(0);
    await plane.app.get(LiveRecordWriter, { strict: false }).write({ kind: 'subscription', id });
    const repaired = { balance: 1_000, creditSeq: 2 };
    expect(await ledger.live(account, model)).toMatchObject(repaired);
    expect(await round()).toBe(0);
    expect(await ledger.live(account, model)).toMatchObject(repaired);
  });

  test.each([
    ['nothing was used since', null],
    ['the clock of Redis is an hour behind since', 3_600_000],
  ])('are left alone after their shard was lost and filled again: %s', async (_what, behindMs) => {
    const { account, model, id } = await subscribed(1_000);
    const shard = shardOf(account.id, Number(plane.environment['SHARDS']));
    const redis = plane.app.get(REDIS);
    const use = async (tokens: number, atMs: number): Promise<void> => {
      await redis.hincrby(keysOf(plane, account.id, model.id), 'bal', -tokens);
      await redis.xadd(`{${shard}}:outbox`, `${atMs}-1`, 'rid', 'x');
      await redis.xdel(`{${shard}}:outbox`, `${atMs}-1`);
      const parts = { account, model: { ...model, name: '' }, subscriptionId: id };
      const event = usageEvent(tokens, parts);
      await plane.app
        .get(UsageWorker, { strict: false })
        .process([{ ...event, shard, outboxId: `${atMs}-1`, epoch: '' }]);
    };
    const nowMs = Date.now();
    await use(300, nowMs);
    expect(await round()).toBe(0);
    await redis.del(...(await keysLike(redis, `{${shard}}:*`)));
    await plane.app.get(EpochsService, { strict: false }).ensureAll();
    await eventually(async () =>
      expect(await ledger.live(account, model)).toMatchObject({ balance: 700 }),
    );
    if (behindMs !== null) await use(50, nowMs - behindMs);
    expect(await round()).toBe(0);
    const balance = behindMs === null ? 700 : 650;
    expect(await ledger.live(account, model)).toMatchObject({ balance });
  });

  test('are left as they are while a restore is open: the difference is what was lost', async () => {
    const { account, model } = await subscribed(1_000);
    await plane.app.get(REDIS).hincrby(keysOf(plane, account.id, model.id), 'bal', 5);
    await ledger.query(
      'INSERT INTO restores (backup_id, taken_at) VALUES (gen_random_uuid(), now())',
    );
    expect(await round()).toBe(0);
    expect((await ledger.live(account, model))?.balance).toBe(1_005);
    await ledger.query('UPDATE restores SET closed_at = now()');
    expect(await round()).toBe(1);
  });

  test('that differ from the ledger only by what is on its way are left alone', async () => {
    const { account, model, id } = await subscribed(1_000);
    // The event in the outbox is not relayed: Redis has debited it, PostgreSQL has not.
    const outbox = `${keysOf(plane, account.id, model.id).split(':')[0]}:outbox`;
    const event = await plane.app.get(REDIS).xadd(outbox, '*', 'rid', 'x');
    await plane.app.get(REDIS).hincrby(keysOf(plane, account.id, model.id), 'bal', -7);
    const oldest = jest.spyOn(plane.app.get(LiveRecords), 'oldestEvent');
    const relayed = new AbortController();
    const rounds = (async () => {
      // A look at used balances may have the lock; then a round ends at once.
      while (!relayed.signal.aborted) await round();
    })();
    await eventually(async () => expect(oldest.mock.calls.length).toBeGreaterThan(4));
    oldest.mockRestore();
    expect(
      await ledger.query(
        "SELECT 1 FROM token_credits WHERE subscription_id = $1 AND kind = 'reconciliation'",
        [id],
      ),
    ).toEqual([]);
    await plane.app.get(REDIS).xdel(outbox, event ?? '');
    relayed.abort();
    await rounds;
  });
});
