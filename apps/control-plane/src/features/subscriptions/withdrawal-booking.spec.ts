import { describe, expect, test } from '@jest/globals';
import {
  booking,
  buy,
  charge,
  dataSource,
  entriesOf,
  houseAmounts,
  inTransaction,
  movements,
  oneWaits,
  purchases,
  rowsOf,
  shareBooks,
  stateOf,
  subscribed,
  tokens,
  walletOf,
  type Subscribed,
} from '../../testing/books-under-test.ts';

shareBooks();

/** Books a withdrawal that Redis has done, as the ingest does. */
const withdraw = ({ id }: Subscribed, amount: number, closes: string | null) =>
  inTransaction(async (tx) =>
    booking.book(tx, await tokens.lockOne(tx, id), {
      ...{ reference: `withdrawal:${id}:${amount}`, tokens: amount, closes },
    }),
  );

const WITHDRAWAL = '019a0000-0000-7000-8000-000000000001';
const closing = ({ id }: Subscribed, withdrawalId = WITHDRAWAL) =>
  dataSource.query(
    "UPDATE subscriptions SET status = 'closing', withdrawal_id = $2 WHERE id = $1",
    [id, withdrawalId],
  );
const statusOf = async ({ id }: Subscribed) =>
  (
    await rowsOf(
      'SELECT status, closed_at IS NOT NULL, revision FROM subscriptions WHERE id = $1',
      [id],
    )
  )[0] as [string, boolean, number];

describe('a withdrawal', () => {
  test('returns what its tokens cost from the revenue to the wallet, and closes the subscription', async () => {
    const one = await subscribed({ price: 3_000_000, wallet: 1_000n });
    await buy(one, 100);
    await closing(one);
    const [, , revision] = await statusOf(one);
    await withdraw(one, 40, WITHDRAWAL);
    expect(await walletOf(one.userId)).toBe(700n + 120n);
    expect((await movements(one.userId)).at(-1)).toEqual([
      ...['refund', `withdrawal:${one.id}:40`, null, 120, 820],
    ]);
    expect(await houseAmounts(`withdrawal:${one.id}:40`)).toEqual([['revenue', -120]]);
    expect(await stateOf(one)).toEqual([60, 0, 1]);
    expect((await entriesOf(one)).at(-1)).toEqual([
      'withdrawal',
      `withdrawal:${one.id}:40`,
      -40,
      60,
    ]);
    expect(await statusOf(one)).toEqual(['closed', true, revision + 1]);
  });

  test('of another number, or of what a request releases later, closes nothing', async () => {
    const one = await subscribed({ price: 3_000_000, wallet: 1_000n });
    await buy(one, 100);
    await closing(one);
    await withdraw(one, 10, null);
    await withdraw(one, 20, WITHDRAWAL.replace(/1$/, '2'));
    expect((await statusOf(one))[0]).toBe('closing');
    await dataSource.query("UPDATE subscriptions SET status = 'active' WHERE id = $1", [one.id]);
    await withdraw(one, 30, WITHDRAWAL);
    expect((await statusOf(one))[0]).toBe('active');
    expect(await walletOf(one.userId)).toBe(700n + 180n);
  });

  test('of a deleted account is forfeited', async () => {
    const one = await subscribed({ price: 3_000_000, wallet: 1_000n });
    await buy(one, 100);
    await dataSource.query(
      "UPDATE users SET status = 'deleted', deleted_at = now() WHERE id = $1",
      [one.userId],
    );
    await withdraw(one, 40, null);
    expect(await walletOf(one.userId)).toBe(700n);
    expect((await movements(one.userId)).slice(-2)).toEqual([
      ['refund', `withdrawal:${one.id}:40`, null, 120, 820],
      ['forfeit', `withdrawal:${one.id}:40`, 'Refund of a deleted account', -120, 700],
    ]);
    expect(await houseAmounts(`withdrawal:${one.id}:40`)).toEqual([
      ['revenue', -120],
      ['revenue', 120],
    ]);
  });
});

describe('an overdraft of a closed subscription', () => {
  async function overdrawn({
    refunded,
    used,
    price = 1_000_000,
  }: {
    refunded: number;
    used: number;
    price?: number;
  }) {
    const one = await subscribed({ price, wallet: 100n });
    await buy(one, 100);
    await closing(one);
    await withdraw(one, refunded, WITHDRAWAL);
    await charge([[one, used]]);
    return one;
  }
  const repay = (one: Subscribed) =>
    inTransaction((tx) => purchases.repay(tx, { id: one.id, modelId: one.modelId }));

  test('is paid for out of what was refunded', async () => {
    const one = await overdrawn({ refunded: 100, used: 30 });
    expect(await stateOf(one)).toEqual([0, 30, 1]);
    expect(await repay(one)).toBe(true);
    expect(await stateOf(one)).toEqual([0, 0, 2]);
    expect(await walletOf(one.userId)).toBe(70n);
    expect((await movements(one.userId)).at(-1)).toEqual([
      ...['renew', `credit:${one.id}:2`, 'Used before the refund, booked after it', -30, 70],
    ]);
    expect(await repay(one)).toBe(false);
  });

  test('is paid for no further than it was refunded', async () => {
    const one = await overdrawn({ refunded: 20, used: 130 });
    expect(await stateOf(one)).toEqual([0, 50, 1]);
    expect(await repay(one)).toBe(true);
    expect(await stateOf(one)).toEqual([0, 30, 2]);
    expect(await walletOf(one.userId)).toBe(0n);
  });

  test('is left to the house while the subscription is open, where the wallet is too small, and where the price is nothing', async () => {
    const open = await overdrawn({ refunded: 100, used: 30 });
    await dataSource.query("UPDATE subscriptions SET status = 'active' WHERE id = $1", [open.id]);
    const poor = await overdrawn({ refunded: 100, used: 101 });
    await dataSource.query(
      'INSERT INTO price_versions (model_id, price_per_million, effective_at) VALUES ($1, 1000001, now())',
      [poor.modelId],
    );
    const free = await overdrawn({ refunded: 100, used: 30 });
    await dataSource.query(
      'INSERT INTO price_versions (model_id, price_per_million, is_free, effective_at) VALUES ($1, 0, true, now())',
      [free.modelId],
    );
    for (const one of [open, poor, free]) {
      const before = await stateOf(one);
      expect(await repay(one)).toBe(false);
      expect(await stateOf(one)).toEqual(before);
      expect(await walletOf(one.userId)).toBe(100n);
    }
  });

  test('keeps the prices of the model, then the subscription', async () => {
    const one = await overdrawn({ refunded: 100, used: 30 });
    let priced: Promise<unknown> | undefined;
    await inTransaction(async (tx) => {
      await purchases.repay(tx, { id: one.id, modelId: one.modelId });
      priced = dataSource.query('UPDATE models SET updated_at = now() WHERE id = $1', [
        one.modelId,
      ]);
      await oneWaits();
    });
    await priced;
  });
});
