import { describe, expect, test } from '@jest/globals';
import { uuidv7 } from '../../../platform/http/visitor.ts';
import { inTransaction } from '../../../testing/books-under-test.ts';
import {
  book,
  late,
  one,
  read,
  shapes,
  shareLateUsage,
} from '../../../testing/late-usage-under-test.ts';
import type { ReadEvent } from './read-event.ts';

shareLateUsage();

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
    const first = read({ rid, charge: 70, delta: 3, seq: 0, isSigned: true });
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
  });
});
