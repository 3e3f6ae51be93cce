import { afterEach, describe, expect, jest, test } from '@jest/globals';
import {
  hashCredential,
  JOURNAL_HEADERS,
  JOURNAL_PATH,
  proveUpload,
  type RelayedEvent,
} from '@tollgate/contracts';
import { shardOf } from '@tollgate/keyspace';
import { eventually } from '@tollgate/harness';
import {
  ledger,
  plane,
  shareLedgerPlane,
  worker,
} from '../../../testing/ledger-plane-under-test.ts';
import {
  reapEvent,
  usageEvent,
  type EventParts,
  subscribedAccount,
} from '../../../testing/ledger-under-test.ts';
import { keysOf } from '../../../testing/drift-under-test.ts';
import { ADVISORY_LOCK_FAMILIES } from '../../../platform/database/advisory-locks.ts';
import { REDIS } from '../../../platform/redis/redis.module.ts';
import { uuidv7 } from '../../../platform/http/visitor.ts';
import { UsageIngest } from '../ingest/usage-ingest.service.ts';

const NODE = 'node-a:0';
shareLedgerPlane();

const subscribed = (tokens: number): Promise<EventParts> => subscribedAccount(plane, tokens);

async function handOver(
  events: readonly RelayedEvent[],
  { credential = plane.environment['FLEET_CREDENTIAL'] ?? '', atMs = Date.now(), spoil = '' } = {},
) {
  const body = JSON.stringify({ finals: events.map(({ rid, payload }) => ({ rid, payload })) });
  const response = await fetch(`${plane.url}${JOURNAL_PATH}`, {
    method: 'POST',
    body: body + spoil,
    headers: {
      'content-type': 'application/json',
      [JOURNAL_HEADERS.node]: NODE,
      [JOURNAL_HEADERS.at]: String(atMs),
      [JOURNAL_HEADERS.proof]: proveUpload({ node: NODE, atMs, body }, hashCredential(credential)),
    },
  });
  return { status: response.status, body: await response.json() };
}

const shardOfParts = ({ account }: EventParts): string =>
  shardOf(account.id, Number(plane.environment['SHARDS']));
const balances = async ({ account, model }: EventParts) => {
  const row = await ledger.subscription(account, model);
  return { ledger: Number(row.balance), redis: (await ledger.live(account, model))?.balance };
};
const closeAt = (parts: EventParts, balance: number) =>
  eventually(async () =>
    expect(await balances(parts)).toEqual({ ledger: balance, redis: balance }),
  );
/** Hands the event over as the relay would, in the epoch the shard is in now, or in one that is gone. */
const relayed = async (
  event: RelayedEvent,
  { account }: EventParts,
  epoch?: string,
): Promise<RelayedEvent> => {
  const shard = shardOf(account.id, Number(plane.environment['SHARDS']));
  const [row] = await ledger.query('SELECT epoch FROM shard_epochs WHERE shard = $1', [shard]);
  return { ...event, shard, outboxId: `${Date.now()}-1`, epoch: epoch ?? row.epoch };
};

describe('a final out of a journal', () => {
  test('is booked once however often it is handed over, and reaches Redis as a credit', async () => {
    const parts = await subscribed(1_000);
    const final = usageEvent(40, parts);
    for (let turn = 0; turn < 3; turn += 1)
      expect(await handOver([final])).toEqual({ status: 200, body: { booked: [final.rid] } });
    await closeAt(parts, 960);
  });

  test('and the event of a Redis that is gone are one request, in either order', async () => {
    for (const isJournalFirst of [true, false]) {
      const parts = await subscribed(1_000);
      const final = usageEvent(40, parts);
      const event = await relayed(final, parts, 'gone');
      if (isJournalFirst) await handOver([final]);
      await worker.process([event]);
      if (!isJournalFirst) await handOver([final]);
      await closeAt(parts, 960);
    }
  });

  test('and what a request released into a withdrawal in a Redis that is gone leave the Redis of today', async () => {
    const parts = await subscribed(1_000);
    const { account, model, subscriptionId } = parts;
    const payload = {
      ...{ kind: 'withdraw', account_id: account.id, subscription_id: subscriptionId },
      ...{ model_id: model.id, withdrawal_id: await ledger.beginWithdrawal(subscriptionId) },
    };
    const released = { ...usageEvent(40, parts), seq: '2', payload: JSON.stringify(payload) };
    const event = await relayed(released, parts, 'gone');
    await worker.process([event]);
    await worker.process([event]);
    await closeAt(parts, 960);
    const place = 'SELECT shard, outbox_ms FROM usage_events WHERE rid = $1';
    // Compared with today's outbox, it would look as if it came after the balance was read.
    expect(await ledger.query(place, [released.rid])).toEqual([{ shard: null, outbox_ms: null }]);
  });

  test('that Redis has settled after all is debited there once: its event takes the credit back', async () => {
    const parts = await subscribed(1_000);
    const final = usageEvent(40, parts);
    await handOver([final]);
    await closeAt(parts, 960);
    const event = await relayed(final, parts);
    await worker.process([event]);
    await worker.process([event]);
    // Redis' own settlement, which a real event stands for, is not played here.
    await eventually(async () =>
      expect(await balances(parts)).toEqual({ ledger: 960, redis: 1_000 }),
    );
  });

  test('corrects the reap that is booked, and replaces a correction that comes after it', async () => {
    const parts = await subscribed(1_000);
    const rid = uuidv7(Date.now());
    await worker.process([await relayed(reapEvent(80, { ...parts, rid }), parts, 'gone')]);
    await handOver([usageEvent(50, { ...parts, rid })]);
    await closeAt(parts, 950);
    const other = uuidv7(Date.now());
    await handOver([usageEvent(50, { ...parts, rid: other })]);
    await worker.process([
      await relayed(usageEvent(50, { ...parts, rid: other, seq: 1, delta: -30 }), parts, 'gone'),
      await relayed(reapEvent(80, { ...parts, rid: other }), parts, 'gone'),
    ]);
    await closeAt(parts, 900);
  });

  test('supplies the reap that a lone correction stands on', async () => {
    const parts = await subscribed(1_000);
    const rid = uuidv7(Date.now());
    await worker.process([
      await relayed(usageEvent(50, { ...parts, rid, seq: 1, delta: -30 }), parts, 'gone'),
    ]);
    await handOver([usageEvent(50, { ...parts, rid })]);
    await closeAt(parts, 950);
  });

  test('is acknowledged by no answer while its shard cannot be booked, beside one that can', async () => {
    const parts = await subscribed(1_000);
    let other = await subscribed(1_000);
    while (shardOfParts(other) === shardOfParts(parts)) other = await subscribed(1_000);
    const finals = [usageEvent(40, parts), usageEvent(30, other)];
    const ingest = plane.app.get(UsageIngest, { strict: false });
    const book = ingest.ingest.bind(ingest);
    const failing = jest
      .spyOn(ingest, 'ingest')
      .mockImplementation(async (events, source) =>
        source?.fromJournal && events[0]?.rid === finals[0]?.rid
          ? Promise.reject(new Error('the shard cannot be booked'))
          : book(events, source),
      );
    try {
      const refused = await handOver(finals);
      expect(refused.status).toBe(500);
      expect(refused.body).not.toHaveProperty('booked');
    } finally {
      failing.mockRestore();
    }
    expect(await handOver(finals)).toEqual({
      status: 200,
      body: { booked: finals.map(({ rid }) => rid) },
    });
    await closeAt(parts, 960);
    await closeAt(other, 970);
  });

  test('waits until no other process books usage of its shard, while relayed usage waits for none', async () => {
    const parts = await subscribed(1_000);
    const isBooked = async (event: RelayedEvent): Promise<boolean> =>
      (await ledger.query('SELECT 1 FROM usage_events WHERE rid = $1', [event.rid])).length > 0;
    const [final, event] = [usageEvent(40, parts), await relayed(usageEvent(30, parts), parts)];
    const { answer } = await plane.administrator.transaction(async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock_shared($1, $2)', [
        ADVISORY_LOCK_FAMILIES.shardEpoch,
        Number(shardOfParts(parts).slice(1)),
      ]);
      await worker.process([event]);
      const handedOver = handOver([final]);
      const waits =
        "SELECT mode FROM pg_locks WHERE locktype = 'advisory' AND classid = $1 AND NOT granted";
      await eventually(async () =>
        expect(await ledger.query(waits, [ADVISORY_LOCK_FAMILIES.shardEpoch])).toEqual([
          { mode: 'ExclusiveLock' },
        ]),
      );
      expect([await isBooked(event), await isBooked(final)]).toEqual([true, false]);
      return { answer: handedOver };
    });
    expect(await answer).toMatchObject({ status: 200 });
    expect(await isBooked(final)).toBe(true);
  });

  test('that is poison becomes a dead letter and is acknowledged', async () => {
    const parts = await subscribed(1_000);
    const poison = { ...usageEvent(1, parts), payload: '{"kind":' };
    expect(await handOver([poison, usageEvent(5, parts)])).toMatchObject({ status: 200 });
    expect(
      await ledger.query('SELECT 1 FROM usage_dead_letters WHERE rid = $1', [poison.rid]),
    ).toHaveLength(1);
    await closeAt(parts, 995);
  });
});

describe('the journal endpoint', () => {
  test('takes nothing without the proof of the node, over these very bytes, made just now', async () => {
    const parts = await subscribed(1_000);
    const final = usageEvent(40, parts);
    expect(
      (
        await handOver([final], {
          credential: 'another process, with a credential of enough bytes',
        })
      ).status,
    ).toBe(401);
    expect((await handOver([final], { spoil: ' ' })).status).toBe(401);
    expect((await handOver([final], { atMs: Date.now() - 3_600_000 })).status).toBe(401);
    expect(await balances(parts)).toEqual({ ledger: 1_000, redis: 1_000 });
  });

  test('is no part of the administration interface', async () => {
    expect((await plane.call('POST', '/internal/journal')).status).toBe(404);
    expect(
      JSON.stringify((await plane.call('GET', '/openapi.json', { token: plane.adminToken })).body),
    ).not.toContain('/internal/');
  });
});

test("an event relayed under an epoch that is gone is debited in today's Redis by a credit", async () => {
  const parts = await subscribed(1_000);
  await worker.process([await relayed(usageEvent(40, parts), parts, 'gone')]);
  await closeAt(parts, 960);
  expect(await ledger.violations()).toEqual({});
});

describe('while a restore is open, what Redis has debited stays debited there', () => {
  const openRestore = (): Promise<unknown> =>
    ledger.query('INSERT INTO restores (backup_id, taken_at) VALUES (gen_random_uuid(), now())');
  afterEach(() => ledger.query('DELETE FROM restores'));
  const settled = async (epoch: string): Promise<[EventParts, RelayedEvent]> => {
    const parts = await subscribed(1_000);
    const key = keysOf(plane, parts.account.id, parts.model.id);
    await plane.app.get(REDIS).hincrby(key, 'bal', -40);
    return [parts, await relayed(usageEvent(40, parts), parts, epoch)];
  };
  const filledAgain = ({ account }: EventParts): Promise<unknown> =>
    ledger.query('UPDATE shard_epochs SET updated_at = clock_timestamp() WHERE shard = $1', [
      shardOf(account.id, Number(plane.environment['SHARDS'])),
    ]);

  test.each(['none', 'rebuilding:7', 'later than the backup'])('of epoch %s', async (epoch) => {
    const [parts, event] = await settled(epoch);
    await openRestore();
    await worker.process([event]);
    expect(await balances(parts)).toEqual({ ledger: 960, redis: 960 });
  });

  test('also in a shard that was filled since', async () => {
    const [parts, event] = await settled('none');
    await openRestore();
    await filledAgain(parts);
    await worker.process([event]);
    expect(await balances(parts)).toEqual({ ledger: 960, redis: 960 });
  });

  test('but not of an epoch that ended since: its data may be gone', async () => {
    const [parts, event] = await settled('ended');
    await openRestore();
    await filledAgain(parts);
    await worker.process([event]);
    expect(await balances(parts)).toEqual({ ledger: 960, redis: 920 });
  });

  test('also what a journal brought before it', async () => {
    const [parts, event] = await settled('none');
    await openRestore();
    await handOver([event]);
    expect(await balances(parts)).toEqual({ ledger: 960, redis: 920 });
    await worker.process([event]);
    expect(await balances(parts)).toEqual({ ledger: 960, redis: 960 });
  });
});
