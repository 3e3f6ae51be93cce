import { describe, expect, test } from '@jest/globals';
import { eventually } from '@tollgate/harness';
import {
  charge,
  dataSource,
  entriesOf,
  inTransaction,
  lotsOf,
  overdraftsOf,
  remaining,
  rowsOf,
  shareBooks,
  stateOf,
  subscribed,
  threeLots,
  tokens,
  withdraw,
  type Subscribed,
} from '../../testing/books-under-test.ts';

shareBooks();

describe('the token ledger', () => {
  test('books usage in balance, lots and entries; what the balance does not cover is overdrawn', async () => {
    const [one, other] = [await threeLots(), await threeLots()];
    await charge(
      [
        [one, 120],
        [other, 210],
      ],
      'batch-1',
    );
    expect(await stateOf(one)).toEqual([80, 0, 3]);
    expect(await stateOf(other)).toEqual([0, 10, 3]);
    expect(await remaining(other)).toEqual([0, 0, 0]);
    expect((await entriesOf(one)).slice(3)).toEqual([['usage', 'batch-1', -120, 80]]);
    expect((await entriesOf(other)).slice(3)).toEqual([['usage', 'batch-1', -200, 0]]);
    expect(await overdraftsOf(one)).toEqual([]);
    expect(await overdraftsOf(other)).toEqual([['batch-1', 10]]);
    await charge([[other, -15]], 'batch-2');
    expect(await stateOf(other)).toEqual([5, 0, 3]);
    expect(await remaining(other)).toEqual([0, 0, 5]);
    expect((await entriesOf(other)).slice(4)).toEqual([['usage', 'batch-2', 5, 5]]);
    expect(await overdraftsOf(other)).toEqual([
      ['batch-1', 10],
      ['batch-2', -10],
    ]);
    await charge([[one, 0]], 'batch-3');
    expect((await entriesOf(one)).length).toBe(4);
  });

  test('books a purchase as a lot, an entry and the next credit, and repays what is overdrawn', async () => {
    const one = await subscribed();
    await charge([[one, 30]], 'before');
    const buy = (bought: number, boughtAt?: string) =>
      inTransaction(async (tx) => {
        const locked = await tokens.lockOne(tx, one.id);
        const moment = boughtAt === undefined ? {} : { boughtAt };
        const answer = await tokens.credit(tx, locked, {
          ...{ tokens: bought, cost: 77n, kind: 'subscribe' },
          ...moment,
        });
        expect(locked).toEqual(await tokens.lockOne(tx, one.id));
        return answer;
      });
    expect(await buy(20)).toEqual({ seq: 1 });
    expect(await stateOf(one)).toEqual([0, 10, 1]);
    expect(await buy(25, '2026-01-02T03:04:05.678901Z')).toEqual({ seq: 2 });
    expect(await stateOf(one)).toEqual([15, 0, 2]);
    expect(await lotsOf(one)).toEqual([
      [20, 0, 0, 77, 0],
      [25, 15, 0, 77, 0],
    ]);
    expect(await entriesOf(one)).toEqual([
      ['credit', 'credit:1', 20, 20],
      ['usage', 'overdraft:1', -20, 0],
      ['credit', 'credit:2', 25, 25],
      ['usage', 'overdraft:2', -10, 15],
    ]);
    expect(await overdraftsOf(one)).toEqual([
      ['before', 30],
      ['overdraft:1', -20],
      ['overdraft:2', -10],
    ]);
    expect(
      await rowsOf(
        'SELECT seq, delta, kind FROM token_credits WHERE subscription_id = $1 ORDER BY seq',
        [one.id],
      ),
    ).toEqual([
      [1, 20, 'subscribe'],
      [2, 25, 'subscribe'],
    ]);
    expect(
      await rowsOf(
        "SELECT credit_seq, created_at = '2026-01-02T03:04:05.678901Z' AS asked, created_at > now() - interval '1 minute' AS now FROM token_lots WHERE subscription_id = $1 ORDER BY id",
        [one.id],
      ),
    ).toEqual([
      [1, false, true],
      [2, true, false],
    ]);
  });

  test('takes nothing back from lots where none was ever bought', async () => {
    const one = await subscribed();
    await charge([[one, 30]], 'first');
    await charge([[one, -40]], 'second');
    expect(await stateOf(one)).toEqual([0, -10, 0]);
    await withdraw(one, 'third', 5);
    expect([await stateOf(one), await lotsOf(one)]).toEqual([[0, -5, 0], []]);
    expect(await overdraftsOf(one)).toEqual([
      ['first', 30],
      ['second', -40],
      ['third', 5],
    ]);
  });

  test('a credit for Redis alone changes no balance', async () => {
    const one = await threeLots();
    await inTransaction(async (tx) => {
      const locked = await tokens.lockOne(tx, one.id);
      await tokens.correctLive(tx, locked, { delta: -7, kind: 'late_usage' });
      expect(locked).toEqual(await tokens.lockOne(tx, one.id));
    });
    expect(await stateOf(one)).toEqual([200, 0, 4]);
    expect(
      await rowsOf(
        'SELECT seq, delta, kind FROM token_credits WHERE subscription_id = $1 AND seq > 3',
        [one.id],
      ),
    ).toEqual([[4, -7, 'late_usage']]);
    expect((await entriesOf(one)).length).toBe(3);
  });

  test('a withdrawal takes the newest lots and says what they cost', async () => {
    const one = await threeLots();
    await charge([[one, 10]]);
    expect(await withdraw(one, 'w1', 41)).toEqual({ refund: 1_000n });
    expect(await stateOf(one)).toEqual([149, 0, 3]);
    expect(await lotsOf(one)).toEqual([
      [100, 90, 0, 250, 0],
      [60, 59, 1, 7, 0],
      [40, 0, 40, 1_000, 1_000],
    ]);
    expect((await entriesOf(one)).slice(4)).toEqual([['withdrawal', 'w1', -41, 149]]);
    expect(await withdraw(one, 'w2', 149)).toEqual({ refund: 7n + 225n });
    expect(await stateOf(one)).toEqual([0, 0, 3]);
    expect(await overdraftsOf(one)).toEqual([]);
  });

  test('a withdrawal that usage came before takes its tokens back from usage; beyond all that was bought it is overdrawn', async () => {
    const one = await threeLots();
    await charge([[one, 190]]);
    expect(await withdraw(one, 'w1', 30)).toEqual({ refund: 750n });
    expect(await stateOf(one)).toEqual([0, 20, 3]);
    expect((await entriesOf(one)).slice(4)).toEqual([
      ['usage', 'reclaimed:w1', 20, 30],
      ['withdrawal', 'w1', -30, 0],
    ]);
    expect(await overdraftsOf(one)).toEqual([['reclaimed:w1', 20]]);
    expect(await withdraw(one, 'w2', 175)).toEqual({ refund: 250n + 7n + 250n });
    expect(await stateOf(one)).toEqual([0, 195, 3]);
    expect(await overdraftsOf(one)).toEqual([
      ['reclaimed:w1', 20],
      ['reclaimed:w2', 170],
      ['w2', 5],
    ]);
    expect(await lotsOf(one)).toEqual([
      [100, 0, 100, 250, 250],
      [60, 0, 60, 7, 7],
      [40, 0, 40, 1_000, 1_000],
    ]);
  });

  test('counts free tokens that an account holds, and tokens refunded since the last purchase', async () => {
    const one = await threeLots();
    const other = await subscribed();
    const counted = () =>
      inTransaction(async (tx) => [
        await tokens.unspentFreeTokens(tx, one.userId),
        await tokens.refundedSincePurchase(tx, one.id),
      ]);
    expect(await counted()).toEqual([0, 0]);
    await withdraw(one, 'w1', 11);
    expect(await counted()).toEqual([0, 11]);
    const grant = ({ id }: Subscribed) =>
      inTransaction(async (tx) =>
        tokens.credit(tx, await tokens.lockOne(tx, id), { tokens: 9, cost: 0n, kind: 'grant' }),
      );
    await grant(one);
    expect(await counted()).toEqual([9, 0]);
    await withdraw(one, 'w2', 4);
    // A purchase for another subscription is none of this one.
    await grant(other);
    await withdraw(one, 'w3', 3);
    await withdraw(other, 'w4', 1);
    expect(await counted()).toEqual([2, 7]);
  });

  test('locks what it is asked for, in the order of ids; unknown ids are absent, and an error where one is asked for', async () => {
    const [one, other] = [await threeLots(), await subscribed()];
    const locked = await inTransaction((tx) => tokens.lock(tx, [other.id, 1, one.id]));
    expect([...locked.keys()]).toEqual([one.id, other.id]);
    expect(locked.get(one.id)).toMatchObject({
      ...{ id: one.id, userId: one.userId, modelId: one.modelId, status: 'active' },
      ...{ balance: 200, overdraft: 0, creditSeq: 3, withdrawalId: null, generation: 1 },
    });
    const withdrawalId = '019a0000-0000-7000-8000-000000000001';
    await dataSource.query(
      "UPDATE subscriptions SET status = 'closing', withdrawal_id = $2, generation = 6 WHERE id = $1",
      [one.id, withdrawalId],
    );
    expect(await inTransaction((tx) => tokens.lockOne(tx, one.id))).toMatchObject({
      ...{ status: 'closing', withdrawalId, generation: 6 },
    });
    await expect(inTransaction((tx) => tokens.lockOne(tx, 1))).rejects.toThrow(
      'subscription 1 does not exist',
    );
    const unlocked = inTransaction((tx) =>
      tokens.charge(tx, 'x', new Map([[one.id, 5]]), new Map()),
    );
    await expect(unlocked).rejects.toThrow(`subscription ${one.id} is not locked`);
  });

  test('a second transaction waits for a locked subscription and sees what the first one left', async () => {
    const one = await threeLots();
    let second: Promise<number> | undefined;
    await inTransaction(async (tx) => {
      const locked = await tokens.lockOne(tx, one.id);
      second = inTransaction(async (later) => (await tokens.lockOne(later, one.id)).balance);
      await eventually(async () =>
        expect(
          await dataSource.query(
            "SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
          ),
        ).toEqual([{ waiting: 1 }]),
      );
      await tokens.credit(tx, locked, { tokens: 1, cost: 0n, kind: 'grant' });
    });
    expect(await second).toBe(201);
  });
});
