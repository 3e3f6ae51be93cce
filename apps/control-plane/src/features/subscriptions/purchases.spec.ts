import { describe, expect, test } from '@jest/globals';
import {
  buy,
  charge,
  dataSource,
  FREE_TOKENS,
  houseAmounts,
  inTransaction,
  lotsOf,
  movements,
  oneWaits,
  purchases,
  recharge,
  rowsOf,
  shareBooks,
  stateOf,
  subscribed,
  tokens,
  walletOf,
  withdraw,
  type Subscribed,
} from '../../testing/books-under-test.ts';

shareBooks();

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
    await charge([[one, 400]]);
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
        // This buys for another subscription of the account: both lock its wallet.
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
      // A new price locks the row of its model as this statement does.
      priced = dataSource.query('UPDATE models SET updated_at = now() WHERE id = $1', [
        one.modelId,
      ]);
      await oneWaits();
    });
    await priced;
  });
});

test('what a closed subscription is overdrawn by costs the price in force when its model was locked, and its refund pays at most', async () => {
  const one = await subscribed({ price: 2_000_000, wallet: 2_000n });
  await buy(one, 1_000);
  await withdraw(one, 'withdrawal:first:0', 600);
  await dataSource.query("UPDATE subscriptions SET status = 'closed' WHERE id = $1", [one.id]);
  await charge([[one, 500]]);
  await recharge(one.userId, 1_000n);
  let repaid: Promise<boolean> | undefined;
  await inTransaction(async (tx) => {
    await tx.query('SELECT FROM models WHERE id = $1 FOR UPDATE', [one.modelId]);
    repaid = inTransaction((later) => purchases.repay(later, one));
    repaid.catch(() => undefined);
    await oneWaits();
    await tx.query(
      'INSERT INTO price_versions (model_id, price_per_million, effective_at) VALUES ($1, 5000000, clock_timestamp())',
      [one.modelId],
    );
  });
  expect([await repaid, await stateOf(one), await walletOf(one.userId)]).toEqual([
    true,
    [0, 0, 2],
    500n,
  ]);
});

test('a closed subscription is asked for no more than was refunded since its last purchase, as soon as the wallet just pays it', async () => {
  const one = await subscribed({ price: 2_000_000, wallet: 4_000n });
  const repay = () => inTransaction((tx) => purchases.repay(tx, one));
  await buy(one, 1_000);
  await withdraw(one, 'withdrawal:earlier:0', 1_000);
  await buy(one, 1_000);
  await charge([[one, 300]], 'covered');
  await withdraw(one, 'withdrawal:last:0', 600);
  await charge([[one, 1_100]], 'beyond');
  await recharge(one.userId, 1_199n);
  await dataSource.query("UPDATE subscriptions SET status = 'closed' WHERE id = $1", [one.id]);
  expect([await repay(), await stateOf(one)]).toEqual([false, [0, 1_000, 2]]);
  await recharge(one.userId, 1n);
  await dataSource.query("UPDATE subscriptions SET status = 'active' WHERE id = $1", [one.id]);
  expect([await repay(), await stateOf(one)]).toEqual([false, [0, 1_000, 2]]);
  await dataSource.query("UPDATE subscriptions SET status = 'closed' WHERE id = $1", [one.id]);
  expect([await repay(), await stateOf(one)]).toEqual([true, [0, 400, 3]]);
  expect(await walletOf(one.userId)).toBe(0n);
  await recharge(one.userId, 5_000n);
  expect([await repay(), await stateOf(one)]).toEqual([false, [0, 400, 3]]);
});

function lockedOf(one: Subscribed) {
  return {
    ...{ id: one.id, userId: one.userId, modelId: one.modelId, status: 'active' as const },
    ...{ balance: 0, overdraft: 0, creditSeq: 0, generation: 0, withdrawalId: null },
  };
}
