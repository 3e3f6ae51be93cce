import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { NO_USAGE, tokenFieldsOf, type UsageEvent, type UsageFinal } from '@tollgate/contracts';
import type { EntityManager } from 'typeorm';
import { uuidv7 } from '../../../platform/http/visitor.ts';
import {
  dataSource,
  live,
  rowsOf,
  shareBooks,
  stateOf,
  subscribed,
  tokens,
  transactions,
  type Subscribed,
} from '../../../testing/books-under-test.ts';
import { ShardEpochs } from '../../epochs/shard-epochs.sql.ts';
import { LateUsage } from './late-usage.ts';
import { uuidTimeMs, type ReadEvent } from './read-event.ts';
import { UsageRows } from './usage-rows.ts';

const SHARDS = 4;
let late: LateUsage;
let epochs: ShardEpochs;
let one: Subscribed;

shareBooks();
beforeAll(() => {
  epochs = new ShardEpochs(dataSource, { SHARDS });
  late = new LateUsage(epochs, tokens, live);
});
beforeEach(async () => {
  await dataSource.query('DELETE FROM restores');
  await dataSource.query('DELETE FROM shard_epochs');
  one = await subscribed();
});

const inTransaction = <T>(work: (tx: EntityManager) => Promise<T>): Promise<T> =>
  transactions.run(work);

interface Parts {
  kind?: 'usage' | 'reap' | 'withdraw';
  rid?: string;
  seq?: 0 | 1 | 2;
  delta?: number;
  charge?: number;
  epoch?: string;
  outboxId?: string;
  isSigned?: boolean;
  of?: Subscribed;
}

function read({
  kind = 'usage',
  rid = uuidv7(Date.now()),
  seq = 0,
  charge = 70,
  delta = charge,
  epoch = 'now',
  outboxId = '5-7',
  isSigned = false,
  of = one,
}: Parts = {}): ReadEvent {
  const request = {
    ...{ account_id: of.userId, key_id: 77, subscription_id: of.id, model_id: of.modelId },
    ...{ price_version_id: of.priceId, node: 'node-a:0' },
  };
  const payloads = {
    usage: {
      ...{ kind: 'usage', ...request, protocol: 'chat', is_stream: false, upstream_id: 1 },
      ...{ attempts: [], outcome: 'completed', status: 200, charge, basis: 'reported' },
      ...tokenFieldsOf({ ...NO_USAGE, input: charge }),
      ...{ started_at: Date.now(), first_token_ms: 1, duration_ms: 2 },
    },
    reap: { kind: 'reap', ...request },
    withdraw: {
      ...{ kind: 'withdraw', account_id: of.userId, subscription_id: of.id },
      ...{ model_id: of.modelId, withdrawal_id: rid },
    },
  };
  return {
    event: { rid, seq, delta, payload: payloads[kind] } as UsageEvent,
    relayed: {
      ...{ shard: 's09', epoch, outboxId, rid, seq: String(seq), delta: String(delta) },
      payload: '',
    },
    isSigned,
    beganAtMs: uuidTimeMs(rid),
    unreadable: [],
    unknown: [],
  };
}

const book = (...events: ReadEvent[]) => inTransaction((tx) => new UsageRows().insert(tx, events));
const current = (epoch = 'now', of = one) => new Map([[epochs.shardOf(of.userId), epoch]]);
/** Number, delta and kind of each event. */
const shapes = (events: readonly ReadEvent[]) =>
  events.map(({ event }) => [event.seq, event.delta, event.payload.kind]);

describe('what Redis does not know', () => {
  test('is usage of an epoch that is gone, and all usage out of a journal, but no withdrawal', () => {
    const events = [
      read({ charge: 5 }),
      read({ charge: 6, epoch: 'before' }),
      read({ charge: 7, epoch: '' }),
      read({ kind: 'reap', delta: 8, epoch: 'before' }),
      read({ kind: 'withdraw', delta: 9, epoch: 'before' }),
    ];
    const of = (isLate: boolean) => late.missedBy(events, current(), { isLate });
    expect(of(false)).toEqual([
      { subscriptionId: one.id, delta: -6 },
      { subscriptionId: one.id, delta: -8 },
    ]);
    expect(of(true).map(({ delta }) => delta)).toEqual([-5, -6, -7, -8]);
  });

  test('loses its place in the outbox, and nothing else does', async () => {
    const events = [
      read(),
      read({ epoch: 'before' }),
      read({ kind: 'withdraw', epoch: 'before' }),
      read({ epoch: '' }),
    ];
    const placed = await inTransaction((tx) => late.placed(tx, events, current()));
    expect(placed.map(({ relayed }) => [relayed.shard, relayed.outboxId])).toEqual([
      ['s09', '5-7'],
      ['', ''],
      ['s09', '5-7'],
      ['s09', '5-7'],
    ]);
    expect(placed.map(({ event }) => event)).toEqual(events.map(({ event }) => event));
  });

  test('is corrected in Redis by one credit for each subscription, and none where the sum is nothing', async () => {
    const other = await subscribed();
    const third = await subscribed();
    const correct = (known: readonly Subscribed[]) =>
      inTransaction(async (tx) =>
        late.correct(
          tx,
          [
            { subscriptionId: one.id, delta: -6 },
            { subscriptionId: other.id, delta: 4 },
            { subscriptionId: one.id, delta: -8 },
            { subscriptionId: third.id, delta: 9 },
            { subscriptionId: third.id, delta: -9 },
          ],
          await tokens.lock(
            tx,
            known.map(({ id }) => id),
          ),
        ),
      );
    await correct([one, other, third]);
    const credits = ({ id }: Subscribed) =>
      rowsOf('SELECT seq, delta, kind FROM token_credits WHERE subscription_id = $1', [id]);
    expect(await credits(one)).toEqual([[1, -14, 'late_usage']]);
    expect(await credits(other)).toEqual([[1, 4, 'late_usage']]);
    expect(await credits(third)).toEqual([]);
    expect(await stateOf(one)).toEqual([0, 0, 1]);
    expect(
      await rowsOf(
        'SELECT kind, target_id FROM live_state_outbox WHERE target_id = ANY($1) ORDER BY id',
        [[one.id, other.id, third.id]],
      ),
    ).toEqual([
      ['subscription', one.id],
      ['subscription', other.id],
    ]);
    await expect(correct([one, other])).rejects.toThrow(`subscription ${third.id} is not locked`);
  });
});

describe('while a restore is open', () => {
  /** Fills the account's shard before or after the restore began. */
  async function restore(filled: 'before' | 'after') {
    const shard = epochs.shardOf(one.userId);
    await dataSource.query(
      'INSERT INTO shard_epochs (shard, epoch, updated_at) VALUES ($1, $2, now())',
      [shard, 'now'],
    );
    await dataSource.query(
      `INSERT INTO restores (backup_id, taken_at, restored_at) VALUES (gen_random_uuid(), now(), now() ${filled === 'before' ? '+' : '-'} interval '1 hour')`,
    );
  }
  const epochsOf = async (events: readonly ReadEvent[]) =>
    (await inTransaction((tx) => late.placed(tx, events, current()))).map(({ relayed }) => [
      relayed.epoch,
      relayed.outboxId,
    ]);
  const events = () =>
    ['before', 'none', 'rebuilding:x', 'now', ''].map((epoch) => read({ epoch }));

  test('every epoch of a shard that was filled before it is the one of today', async () => {
    await restore('before');
    expect(await epochsOf(events())).toEqual(events().map(() => ['now', '5-7']));
    expect(await epochsOf([read({ epoch: 'before', outboxId: '' })])).toEqual([['before', '']]);
  });

  test('of a shard that was filled since, only events beside which no epoch stood', async () => {
    await restore('after');
    expect(await epochsOf(events())).toEqual([
      ['before', ''],
      ['now', '5-7'],
      ['now', '5-7'],
      ['now', '5-7'],
      ['', '5-7'],
    ]);
  });

  test('nothing is kept where no event is late, nor in the shard of another account', async () => {
    await restore('before');
    expect(await epochsOf([read({ epoch: '' })])).toEqual([['', '5-7']]);
    let other = await subscribed();
    while (epochs.shardOf(other.userId) === epochs.shardOf(one.userId)) other = await subscribed();
    expect(
      await epochsOf([read({ epoch: 'before' }), read({ epoch: 'before', of: other })]),
    ).toEqual([
      ['now', '5-7'],
      ['before', ''],
    ]);
  });
});

describe('an event of an outbox whose usage a journal brought before', () => {
  const adopt = (events: readonly ReadEvent[], epoch = 'now') =>
    inTransaction((tx) => late.adopt(tx, events, current(epoch)));
  const placeOf = ({ event }: ReadEvent) =>
    rowsOf('SELECT shard, outbox_ms, outbox_n FROM usage_events WHERE rid = $1 AND seq = $2', [
      event.rid,
      event.seq,
    ]);
  const withoutPlace = (event: ReadEvent): ReadEvent => ({
    ...event,
    relayed: { ...event.relayed, shard: '', outboxId: '' },
  });

  test('gives back what its journal had corrected, once', async () => {
    const event = read({ charge: 70 });
    const reap = read({ kind: 'reap', delta: 12 });
    const other = read({ charge: 30 });
    await book(withoutPlace(event), withoutPlace(reap), withoutPlace(other));
    expect(await adopt([event, reap])).toEqual(
      expect.arrayContaining([
        { subscriptionId: one.id, delta: 70 },
        { subscriptionId: one.id, delta: 12 },
      ]),
    );
    expect(await placeOf(event)).toEqual([['s09', 5, 7]]);
    expect(await placeOf(other)).toEqual([[null, null, null]]);
    expect(await adopt([event, reap])).toEqual([]);
  });

  test('adopts nothing of another number, epoch or kind, or without a place', async () => {
    const event = read();
    const withdrawal = read({ kind: 'withdraw' });
    await book(withoutPlace(event), withoutPlace(withdrawal));
    const { rid } = event.event;
    for (const each of [
      read({ rid, epoch: 'before' }),
      read({ rid, epoch: '' }),
      read({ rid, outboxId: '' }),
      read({ rid, seq: 1 }),
      read({ rid: withdrawal.event.rid }),
      withdrawal,
    ])
      expect(await adopt([each])).toEqual([]);
    expect(await adopt([event], 'later')).toEqual([]);
    expect(await adopt([])).toEqual([]);
    expect(await placeOf(event)).toEqual([[null, null, null]]);
  });
});

describe('numbers of a first try', () => {
  const fitted = (...events: ReadEvent[]) => inTransaction((tx) => late.fitted(tx, events));

  test('a signed final is the whole charge of its request, whatever came with it', async () => {
    const { events, deferred } = await fitted(
      read({ charge: 70, delta: 3, isSigned: true }),
      read({ charge: 71, delta: 3, seq: 1, isSigned: true }),
      read({ charge: 72, delta: 72, isSigned: true }),
    );
    expect(shapes(events)).toEqual([
      [0, 70, 'usage'],
      [0, 71, 'usage'],
      [0, 72, 'usage'],
    ]);
    expect(deferred).toEqual([]);
  });

  test('what is not signed keeps its own, but a correction of what is booked whole is dropped', async () => {
    const whole = read({ charge: 70 });
    await book(whole);
    const { rid } = whole.event;
    const { events } = await fitted(
      read({ charge: 70, delta: 3 }),
      read({ charge: 70, delta: 3, seq: 1 }),
      read({ rid, charge: 70, delta: 30, seq: 1 }),
      read({ rid, charge: 70, delta: 30, seq: 1, isSigned: true }),
    );
    expect(shapes(events)).toEqual([
      [0, 3, 'usage'],
      [1, 3, 'usage'],
    ]);
  });

  test('a signed final waits for the reap of its request beside it, and corrects one that is booked', async () => {
    const reap = read({ kind: 'reap', delta: 50 });
    const { rid } = reap.event;
    const final = read({ rid, charge: 70, seq: 1, delta: 99, isSigned: true });
    const unsigned = read({ rid, charge: 70, seq: 1, delta: 20 });
    const beside = await fitted(reap, final, unsigned);
    expect(beside.deferred).toEqual([final]);
    expect(shapes(beside.events)).toEqual([
      [0, 50, 'reap'],
      [1, 20, 'usage'],
    ]);
    await book(reap);
    expect(shapes((await fitted(final)).events)).toEqual([[1, 20, 'usage']]);
    expect(shapes((await fitted(unsigned)).events)).toEqual([[1, 20, 'usage']]);
    await book(read({ rid, charge: 70, seq: 1, delta: 20 }));
    // It meets its row under its number.
    expect(shapes((await fitted(final)).events)).toEqual([[1, 99, 'usage']]);
  });

  test('the first number of a signed final stays its own beside the booked row of another', async () => {
    const reap = read({ kind: 'reap', delta: 50 });
    await book(reap);
    const { rid } = reap.event;
    const first = read({ rid, charge: 70, seq: 0, isSigned: true });
    const again = read({ rid, charge: 70, seq: 1, isSigned: true });
    expect(shapes((await fitted(first, again)).events)).toEqual([
      [0, 70, 'usage'],
      [1, 20, 'usage'],
    ]);
  });
});

describe('numbers of a second try', () => {
  const refitted = async (...finals: ReadEvent[]) =>
    shapes(await inTransaction((tx) => late.refitted(tx, finals)));

  test('correct a reap, are the whole charge where nothing is booked, and end where a charge is', async () => {
    const reap = read({ kind: 'reap', delta: 90 });
    const whole = read({ charge: 70 });
    await book(reap, whole);
    const again = (rid: string) => read({ rid, charge: 70, seq: 1, delta: 5, isSigned: true });
    expect(await refitted(again(reap.event.rid))).toEqual([[1, -20, 'usage']]);
    expect(await refitted(again(whole.event.rid))).toEqual([]);
    expect(await refitted(again(uuidv7(Date.now())))).toEqual([[0, 70, 'usage']]);
    expect(await refitted()).toEqual([]);
    await book(read({ rid: reap.event.rid, charge: 70, seq: 1, delta: -20 }));
    expect(await refitted(again(reap.event.rid))).toEqual([]);
  });
});

describe('numbers of finals out of a journal', () => {
  const numbered = async (...finals: ReadEvent[]) =>
    inTransaction((tx) => late.numbered(tx, finals));

  test('are those of a first charge, of the correction of a reap, or of the reap that a correction lacks', async () => {
    const fresh = read({ charge: 70 });
    expect(await numbered(fresh)).toEqual([fresh]);
    const reap = read({ kind: 'reap', delta: 90 });
    await book(reap);
    const { rid } = reap.event;
    expect(shapes(await numbered(read({ rid, charge: 70 })))).toEqual([[1, -20, 'usage']]);
    await book(read({ rid, charge: 70, seq: 1, delta: -20 }));
    expect(await numbered(read({ rid, charge: 70 }))).toEqual([]);
  });

  test('a correction without its reap lacks what it took back', async () => {
    const correction = read({ charge: 70, seq: 1, delta: -20 });
    await book(correction);
    const [missing] = await numbered(read({ rid: correction.event.rid, charge: 70 }));
    expect(missing?.event).toEqual({
      ...{ rid: correction.event.rid, seq: 0, delta: 90 },
      payload: {
        ...{ kind: 'reap', account_id: one.userId, key_id: 77, subscription_id: one.id },
        ...{ model_id: one.modelId, price_version_id: one.priceId, node: 'node-a:0' },
      },
    });
    const booked = read({ charge: 70 });
    await book(booked);
    expect(await numbered(read({ rid: booked.event.rid, charge: 70 }))).toEqual([]);
  });

  test('only finals have them, and a withdrawal of the same id is not looked at', async () => {
    const withdrawal = read({ kind: 'withdraw' });
    await book(withdrawal);
    const final = read({ rid: withdrawal.event.rid, charge: 70 });
    expect(await numbered(withdrawal, read({ kind: 'reap' }), final)).toEqual([final]);
    const payload = final.event.payload as UsageFinal;
    expect(payload.charge).toBe(70);
  });
});

test('epochs are those that the shards of these accounts are in', async () => {
  await epochs.change(epochs.shardOf(one.userId), 'e1');
  const held = await inTransaction((tx) => late.holdEpochs(tx, [one.userId], { alone: false }));
  expect(held).toEqual(current('e1'));
});
