import { describe, expect, test } from '@jest/globals';
import {
  dataSource,
  inTransaction,
  rowsOf,
  stateOf,
  subscribed,
  tokens,
  type Subscribed,
} from '../../../testing/books-under-test.ts';
import {
  book,
  epochs,
  late,
  one,
  read,
  shareLateUsage,
} from '../../../testing/late-usage-under-test.ts';
import { correctionOf } from './late-usage.sql.ts';
import type { ReadEvent } from './read-event.ts';

shareLateUsage();

const current = (epoch = 'now', of = one) => new Map([[epochs.shardOf(of.userId), epoch]]);
describe('what Redis does not know', () => {
  test('is usage of an epoch that is gone, what it released there, and all usage out of a journal, but no withdrawal', () => {
    const events = [
      read({ charge: 5 }),
      read({ charge: 6, epoch: 'before' }),
      read({ charge: 7, epoch: '' }),
      read({ kind: 'reap', delta: 8, epoch: 'before' }),
      read({ kind: 'withdraw', delta: 9, epoch: 'before' }),
      read({ kind: 'withdraw', seq: 2, delta: 10, epoch: 'before' }),
      read({ kind: 'withdraw', seq: 2, delta: 11 }),
    ];
    const of = (isLate: boolean) => late.missedOf(events, current(), { isLate }).map(correctionOf);
    expect(of(false)).toEqual([
      { subscriptionId: one.id, delta: -6 },
      { subscriptionId: one.id, delta: -8 },
      { subscriptionId: one.id, delta: -10 },
    ]);
    expect(of(true).map(({ delta }) => delta)).toEqual([-5, -6, -7, -8, -10, -11]);
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
      ['', ''],
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
    expect(await epochsOf([read({ epoch: 'before' })])).toEqual([['now', '5-7']]);
    // An event without a place in the outbox is late whatever is kept.
    expect(
      await epochsOf([read({ epoch: 'before' }), read({ epoch: 'before', outboxId: '' })]),
    ).toEqual([
      ['now', '5-7'],
      ['before', ''],
    ]);
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
  const adopt = (duplicates: readonly ReadEvent[], epoch = 'now') =>
    inTransaction((tx) => late.adopt(tx, { booked: [], duplicates }, current(epoch)));
  const adoptFor = (final: ReadEvent) =>
    inTransaction((tx) => late.adopt(tx, { booked: [final], duplicates: [] }, current()));
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
        expect.objectContaining({
          ...{ subscriptionId: one.id, delta: 70 },
          use: expect.objectContaining({ charge: 70, reported: 70 }),
        }),
        expect.objectContaining({ subscriptionId: one.id, delta: 12 }),
      ]),
    );
    expect(await placeOf(event)).toEqual([['s09', 5, 7]]);
    expect(await placeOf(other)).toEqual([[null, null, null]]);
    expect(await adopt([event, reap])).toEqual([]);
    expect(await adopt([other])).toMatchObject([{ subscriptionId: one.id, delta: 30 }]);
  });

  test('gives back what it released into a withdrawal, once', async () => {
    const release = read({ kind: 'withdraw', seq: 2, delta: 40 });
    await book(withoutPlace(release));
    const [adopted, ...others] = await adopt([release]);
    expect(others).toEqual([]);
    expect(adopted).toEqual({
      subscriptionId: one.id,
      delta: 40,
      use: {
        accountId: one.userId,
        claims: '',
        ...{ seq: 2, delta: 40, charge: null, reported: null },
      },
    });
    expect(await placeOf(release)).toEqual([['s09', 5, 7]]);
    expect(await adopt([release])).toEqual([]);
  });

  test('gives back no more than Redis has debited, nor than the journal had brought', async () => {
    const [final, other] = [read({ charge: 880 }), read({ charge: 30 })];
    await book(withoutPlace(final), withoutPlace(other));
    const reap = read({ kind: 'reap', rid: final.event.rid, delta: 261 });
    const forged = read({ kind: 'reap', rid: other.event.rid, delta: 9_000 });
    expect(await adopt([reap])).toMatchObject([{ subscriptionId: one.id, delta: 261 }]);
    expect(await adopt([forged])).toMatchObject([{ subscriptionId: one.id, delta: 30 }]);
  });

  /** Makes the final of a reaped request, which Redis settled as a first charge. */
  const settledWhole = (rid: string): ReadEvent => {
    const final = read({ rid, seq: 1, charge: 156, delta: 65 });
    return { ...final, relayed: { ...final.relayed, seq: '0', delta: '156', outboxId: '6-1' } };
  };

  test('gives back a reap with which the shard was filled, when its final is settled whole', async () => {
    const reap = read({ kind: 'reap', delta: 91 });
    await book(reap);
    const final = settledWhole(reap.event.rid);
    expect(await adoptFor(final)).toEqual([]);
    await epochs.change(epochs.shardOf(one.userId), 'now');
    expect(await adoptFor({ ...final, relayed: { ...final.relayed, seq: '1' } })).toEqual([]);
    expect(await adoptFor(final)).toMatchObject([{ subscriptionId: one.id, delta: 91 }]);
    expect(await placeOf(reap)).toEqual([['s09', 6, 1]]);
  });

  test('gives back no reap that the shard of today made', async () => {
    await epochs.change(epochs.shardOf(one.userId), 'now');
    const reap = read({ kind: 'reap', delta: 91 });
    await book(reap);
    expect(await adoptFor(settledWhole(reap.event.rid))).toEqual([]);
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

test('epochs are those that the shards of these accounts are in', async () => {
  await epochs.change(epochs.shardOf(one.userId), 'e1');
  const held = await inTransaction((tx) => late.holdEpochs(tx, [one.userId], { alone: false }));
  expect(held).toEqual(current('e1'));
});
