import { describe, expect, test } from '@jest/globals';
import { eventually } from '@tollgate/harness';
import type { EntityManager } from 'typeorm';
import {
  booking,
  dataSource,
  entriesOf,
  FREE_TOKENS,
  lotsOf,
  purchases,
  rowsOf,
  shareBooks,
  stateOf,
  subscribed,
  tokens,
  transactions,
  walletOf,
  type Subscribed,
} from '../../testing/books-under-test.ts';

shareBooks();

const inTransaction = <T>(work: (tx: EntityManager) => Promise<T>): Promise<T> =>
  transactions.run(work);
const WAITING =
  "SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
const oneWaits = () =>
  eventually(async () => expect(await dataSource.query(WAITING)).toEqual([{ waiting: 1 }]));

const buy = ({ id, modelId }: Subscribed, amount: number, note?: string) =>
  inTransaction(async (tx) => {
    await purchases.lockPrices(tx, modelId);
    return purchases.buy(tx, await tokens.lockOne(tx, id), {
      ...{ tokens: amount, kind: 'renew', actorUserId: null },
      ...(note === undefined ? {} : { note }),
    });
  });

const charge = ({ id }: Subscribed, amount: number) =>
  inTransaction(async (tx) =>
    tokens.charge(tx, 'usage', new Map([[id, amount]]), await tokens.lock(tx, [id])),
  );

/** As the ingest books a withdrawal that Redis has done. */
const withdraw = ({ id }: Subscribed, amount: number, closes: string | null) =>
  inTransaction(async (tx) =>
    booking.book(tx, await tokens.lockOne(tx, id), {
      ...{ reference: `withdrawal:${id}:${amount}`, tokens: amount, closes },
    }),
  );

const movements = (userId: number) =>
  rowsOf(
    `SELECT t.kind, t.reference, t.note, e.amount, e.balance_after FROM ledger_entries e JOIN ledger_transactions t ON t.id = e.transaction_id
       JOIN ledger_accounts a ON a.id = e.ledger_account_id WHERE a.user_id = $1 ORDER BY e.id`,
    [userId],
  );
const houseAmounts = (reference: string) =>
  rowsOf(
    `SELECT a.kind, e.amount FROM ledger_entries e JOIN ledger_transactions t ON t.id = e.transaction_id
       JOIN ledger_accounts a ON a.id = e.ledger_account_id WHERE t.reference = $1 AND a.user_id IS NULL ORDER BY e.id`,
    [reference],
  );
const promised = (id: number) =>
  rowsOf('SELECT DISTINCT kind FROM live_state_outbox WHERE target_id = $1 ORDER BY kind', [id]);

describe('a purchase', () => {
  test('costs its tokens at the price in force, from the wallet to the revenue, and promises the credit to Redis', async () => {
    const one = await subscribed({ price: 2_500_001, wallet: 10_000n });
    expect(await buy(one, 1_000, 'by hand')).toBe(2_501n);
    expect(await walletOf(one.userId)).toBe(7_499n);
    expect(await lotsOf(one)).toEqual([[1_000, 1_000, 0, 2_501, 0]]);
    const reference = `credit:${one.id}:1`;
    expect((await movements(one.userId)).slice(1)).toEqual([
      ['renew', reference, 'by hand', -2_501, 7_499],
    ]);
    expect(await houseAmounts(reference)).toEqual([['revenue', 2_501]]);
    expect(await promised(one.id)).toEqual([['subscription']]);
  });

  test('of no tokens moves nothing', async () => {
    const one = await subscribed({ wallet: 10n });
    expect(await buy(one, 0)).toBe(0n);
    expect(await stateOf(one)).toEqual([0, 0, 0]);
  });

  test('that the wallet does not pay for changes nothing', async () => {
    const one = await subscribed({ wallet: 99n });
    await expect(buy(one, 100)).rejects.toMatchObject({ code: 'insufficient_funds' });
    expect(await stateOf(one)).toEqual([0, 0, 0]);
    expect(await walletOf(one.userId)).toBe(99n);
    await buy(one, 99);
    expect(await walletOf(one.userId)).toBe(0n);
  });

  test('never makes a balance that is no safe integer', async () => {
    const one = await subscribed({ price: 1, wallet: 10n });
    await buy(one, 1);
    await expect(buy(one, Number.MAX_SAFE_INTEGER)).rejects.toMatchObject({
      code: 'token_limit',
    });
  });

  test('for nothing is bounded for the account, to the last token', async () => {
    const one = await subscribed({ price: 0 });
    await buy(one, FREE_TOKENS - 1);
    await expect(buy(one, 2)).rejects.toMatchObject({ code: 'free_tokens_limit' });
    expect(await buy(one, 1)).toBe(0n);
    expect(await promised(one.id)).toEqual([['subscription']]);
    await charge(one, 400);
    await expect(buy(one, 401)).rejects.toMatchObject({ code: 'free_tokens_limit' });
    await buy(one, 400);
  });

  test('for nothing waits for another one of the account, and counts it', async () => {
    const one = await subscribed({ price: 0 });
    let second: Promise<unknown> | undefined;
    await inTransaction(async (tx) => {
      await purchases.buy(tx, await tokens.lockOne(tx, one.id), {
        ...{ tokens: FREE_TOKENS, kind: 'renew', actorUserId: null },
      });
      second = inTransaction((later) =>
        // Of another subscription of the account: their wallet is what both lock.
        purchases.buy(
          later,
          { ...lockedOf(one), creditSeq: 7 },
          {
            ...{ tokens: 1, kind: 'renew', actorUserId: null },
          },
        ),
      );
      second.catch(() => undefined);
      await oneWaits();
    });
    await expect(second).rejects.toMatchObject({ code: 'free_tokens_limit' });
  });

  test('keeps the prices of its model until it ends', async () => {
    const one = await subscribed({ wallet: 10n });
    let priced: Promise<unknown> | undefined;
    await inTransaction(async (tx) => {
      await purchases.lockPrices(tx, one.modelId);
      // As a new price does.
      priced = dataSource.query('UPDATE models SET updated_at = now() WHERE id = $1', [
        one.modelId,
      ]);
      await oneWaits();
    });
    await priced;
  });
});

function lockedOf(one: Subscribed) {
  return {
    ...{ id: one.id, userId: one.userId, modelId: one.modelId, status: 'active' as const },
    ...{ balance: 0, overdraft: 0, creditSeq: 0, generation: 0, withdrawalId: null },
  };
}

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
    await charge(one, used);
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
