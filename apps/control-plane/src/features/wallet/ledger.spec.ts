import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Micros } from '@tollgate/money';
import type { EntityManager } from 'typeorm';
import {
  dataSource,
  events,
  recharge,
  shareBooks,
  subscribed,
  transactions,
  walletOf,
  wallets,
} from '../../testing/books-under-test.ts';
import { WalletCredited, type Posting } from './ledger.service.ts';

const LARGEST = 9_223_372_036_854_775_807n;
const credited: number[] = [];

shareBooks();
events.on(WalletCredited, ({ userId }) => void credited.push(userId));
beforeEach(() => {
  credited.splice(0);
});

const inTransaction = <T>(work: (tx: EntityManager) => Promise<T>): Promise<T> =>
  transactions.run(work);
let references = 0;
const posting = (
  userId: number,
  amount: bigint,
  { kind = 'adjustment', reference = `spec:${(references += 1)}` }: Partial<Posting> = {},
): Posting => ({
  ...{ kind, reference, actorUserId: userId, note: 'a note' },
  entries: [
    { account: { kind: 'wallet', userId }, amount: amount as Micros },
    { account: { kind: 'grants' }, amount: -amount as Micros },
    { account: { kind: 'revenue' }, amount: 0n as Micros },
  ],
});
const post = (each: Posting) => inTransaction((tx) => wallets.post(tx, each));

describe('a posting', () => {
  test('moves each account once, and says the balances after it', async () => {
    const one = await subscribed({ wallet: 50n });
    const each = posting(one.userId, -20n);
    const posted = await post(each);
    expect(posted?.balances.map(({ account }) => account)).toEqual([
      { kind: 'wallet', userId: one.userId },
      { kind: 'grants' },
    ]);
    expect(posted?.balances[0]?.balance).toBe(30n);
    expect(
      await dataSource.query(
        'SELECT kind, actor_user_id, note FROM ledger_transactions WHERE id = $1',
        [posted?.id],
      ),
    ).toEqual([{ kind: 'adjustment', actor_user_id: one.userId, note: 'a note' }]);
    expect(
      await dataSource.query(
        'SELECT amount, balance_after FROM ledger_entries WHERE transaction_id = $1 ORDER BY id LIMIT 1',
        [posted?.id],
      ),
    ).toEqual([{ amount: '-20', balance_after: '30' }]);
    expect(await post(each)).toBeUndefined();
    expect(await walletOf(one.userId)).toBe(30n);
  });

  test('that does not sum to zero, or moves nothing, leaves nothing', async () => {
    const { userId } = await subscribed({ wallet: 50n });
    const odd = posting(userId, 5n);
    await expect(post({ ...odd, entries: odd.entries.slice(0, 1) })).rejects.toThrow(
      'does not sum to zero',
    );
    const empty = posting(userId, 0n);
    expect(await post(empty)).toBeUndefined();
    expect(
      await dataSource.query('SELECT FROM ledger_transactions WHERE reference = ANY($1)', [
        [odd.reference, empty.reference],
      ]),
    ).toEqual([]);
  });

  test('takes a wallet to zero and not below', async () => {
    const { userId } = await subscribed({ wallet: 50n });
    await expect(post(posting(userId, -51n))).rejects.toMatchObject({
      code: 'insufficient_funds',
    });
    await post(posting(userId, -50n));
    expect(await walletOf(userId)).toBe(0n);
  });

  test('fills a wallet to the limit and not above, except by a refund', async () => {
    const { userId } = await subscribed({ wallet: 1n });
    await post(posting(userId, LARGEST - 1n));
    await expect(post(posting(userId, 1n))).rejects.toMatchObject({ code: 'balance_limit' });
    await post(posting(userId, 1n, { kind: 'refund' }));
    expect(await walletOf(userId)).toBe(LARGEST + 1n);
    // The accounts of the house balance all wallets together.
    const other = await subscribed({ wallet: 1n });
    await post(posting(other.userId, LARGEST - 1n));
  });

  test('that brings money into a wallet is announced after its commit, and no other', async () => {
    const { userId } = await subscribed();
    await recharge(userId, 30n);
    expect(credited).toEqual([userId]);
    await post(posting(userId, -30n));
    expect(credited).toEqual([userId]);
    await inTransaction(async (tx) => {
      await wallets.post(tx, posting(userId, 1n));
      throw new Error('undone');
    }).catch(() => undefined);
    expect(credited).toEqual([userId]);
  });
});

test('the wallet of an account that never had money is empty', async () => {
  const { userId } = await subscribed();
  expect(await inTransaction((tx) => wallets.walletForUpdate(tx, userId))).toBe(0n);
  await recharge(userId, 30n);
  expect(await inTransaction((tx) => wallets.walletForUpdate(tx, userId))).toBe(30n);
});
