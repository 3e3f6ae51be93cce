import { expect, test } from '@jest/globals';
import {
  charge,
  inTransaction,
  lotsOf,
  remaining,
  shareBooks,
  threeLots,
  withdraw,
} from '../../testing/books-under-test.ts';
import {
  consumedTokens,
  consumeLots,
  refillLots,
  refundOf,
  refundOfModel,
  withdrawFromLots,
} from './token-lots.sql.ts';

shareBooks();

test('usage takes the oldest first, of each subscription its own', async () => {
  const [one, other] = [await threeLots(), await threeLots()];
  await inTransaction(async (tx) =>
    consumeLots(tx, [
      { subscriptionId: one.id, tokens: 100 },
      { subscriptionId: other.id, tokens: 165 },
    ]),
  );
  expect(await remaining(one)).toEqual([0, 60, 40]);
  expect(await remaining(other)).toEqual([0, 0, 35]);
  await inTransaction(async (tx) => consumeLots(tx, [{ subscriptionId: one.id, tokens: 1 }]));
  expect(await remaining(one)).toEqual([0, 59, 40]);
  expect(await inTransaction((tx) => consumedTokens(tx, [one.id, other.id]))).toEqual(
    new Map([
      [one.id, 101],
      [other.id, 165],
    ]),
  );
  expect(await inTransaction((tx) => consumedTokens(tx, []))).toEqual(new Map());
});

test('a correction puts back where usage took last, and nothing where usage took nothing', async () => {
  const [one, other] = [await threeLots(), await threeLots()];
  await charge([
    [one, 170],
    [other, 170],
  ]);
  expect(await remaining(one)).toEqual([0, 0, 30]);
  await inTransaction(async (tx) =>
    refillLots(tx, [
      { subscriptionId: one.id, tokens: 5 },
      { subscriptionId: other.id, tokens: 85 },
    ]),
  );
  expect(await remaining(one)).toEqual([0, 0, 35]);
  expect(await remaining(other)).toEqual([15, 60, 40]);
});

test('what was withdrawn is not refilled', async () => {
  const one = await threeLots();
  await withdraw(one, 'w', 30);
  await charge([[one, 165]]);
  expect(await remaining(one)).toEqual([0, 0, 5]);
  await inTransaction(async (tx) => refillLots(tx, [{ subscriptionId: one.id, tokens: 64 }]));
  expect(await remaining(one)).toEqual([0, 59, 10]);
  await inTransaction(async (tx) => refillLots(tx, [{ subscriptionId: one.id, tokens: 101 }]));
  expect(await remaining(one)).toEqual([100, 60, 10]);
});

test('demands of nothing, or below, change nothing', async () => {
  const one = await threeLots();
  await charge([[one, 50]]);
  for (const demand of [0, -20])
    await inTransaction(async (tx) => {
      consumeLots(tx, [{ subscriptionId: one.id, tokens: demand }]);
      refillLots(tx, [{ subscriptionId: one.id, tokens: demand }]);
    });
  expect(await remaining(one)).toEqual([50, 60, 40]);
});

test('a refund is of each lot the cost of what was withdrawn, rounded down, however many withdrawals there are', async () => {
  const one = await threeLots();
  const take = (amount: number) => inTransaction((tx) => withdrawFromLots(tx, one.id, amount));
  // The newest lot pays 25 a token, the middle one 7/60, the oldest 2.5.
  expect(await take(39)).toBe(975n);
  expect(await take(2)).toBe(25n);
  expect(await take(10)).toBe(1n);
  expect(await inTransaction((tx) => refundOf(tx, one.id, 50))).toBe(7n - 1n + 2n);
  expect(await inTransaction((tx) => refundOfModel(tx, one.modelId))).toMatchObject({
    tokens: 149,
    refundMicros: 256n,
  });
  expect(await lotsOf(one)).toEqual([
    [100, 100, 0, 250, 0],
    [60, 49, 11, 7, 1],
    [40, 0, 40, 1_000, 1_000],
  ]);
  expect(await take(50)).toBe(8n);
  expect(await take(0)).toBe(0n);
  expect(await lotsOf(one)).toEqual([
    [100, 99, 1, 250, 2],
    [60, 0, 60, 7, 7],
    [40, 0, 40, 1_000, 1_000],
  ]);
  await charge([[one, 33]]);
  // 66 tokens follow the one that was withdrawn before: 2.5 times 67 is 167.5.
  expect(await inTransaction((tx) => refundOf(tx, one.id, 66))).toBe(167n - 2n);
  expect(await inTransaction((tx) => refundOfModel(tx, one.modelId))).toMatchObject({
    tokens: 66,
    refundMicros: 165n,
  });
});

test('of more than there is all of it is taken', async () => {
  const one = await threeLots();
  expect(await inTransaction((tx) => withdrawFromLots(tx, one.id, 201))).toBe(1_257n);
  expect(await remaining(one)).toEqual([0, 0, 0]);
  expect(await inTransaction((tx) => refundOf(tx, one.id, 1))).toBe(0n);
});
