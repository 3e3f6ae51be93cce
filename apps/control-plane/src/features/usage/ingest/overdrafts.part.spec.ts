import { describe, expect, test } from '@jest/globals';
import type { RelayedEvent } from '@tollgate/contracts';
import { uuidv7 } from '../../../platform/http/visitor.ts';
import { BalanceWatch } from '../../subscriptions/balance-watch.ts';
import {
  reapEvent,
  usageEvent,
  withdrawEvent,
  type EventParts,
} from '../../../testing/ledger-under-test.ts';
import { keysOf } from '../../../testing/drift-under-test.ts';
import { REDIS } from '../../../platform/redis/redis.module.ts';
import {
  plane,
  ledger,
  worker,
  subscribed,
  stateOf,
} from '../../../testing/usage-ingest-under-test.ts';

const openOverdrafts = async ({ subscriptionId }: EventParts): Promise<number> =>
  (
    await ledger.query(
      "SELECT 1 FROM alerts WHERE rule = 'overdraft' AND subject = $1 AND resolved_at IS NULL",
      [`subscription:${subscriptionId}`],
    )
  ).length;

const overdraftAlerts = ({ subscriptionId }: EventParts) =>
  ledger.query("SELECT detail FROM alerts WHERE rule = 'overdraft' AND subject = $1", [
    `subscription:${subscriptionId}`,
  ]);

describe('usage beyond the balance', () => {
  test('debits what is there, books the rest as overdraft with an alert, and the next purchase repays it first', async () => {
    const parts = await subscribed(100);
    await worker.process([usageEvent(130, parts)]);
    expect(await stateOf(parts)).toEqual({ balance: 0, overdraft: 30 });
    expect(await overdraftAlerts(parts)).toEqual([{ detail: { tokens: 30 } }]);
    await plane.call('POST', '/models/renew', {
      token: parts.account.token,
      body: { model_id: parts.model.id, tokens: 50 },
    });
    expect(await stateOf(parts)).toEqual({ balance: 20, overdraft: 0 });
    await plane.app.get(BalanceWatch, { strict: false }).look();
    expect(await openOverdrafts(parts)).toBe(0);
  });

  test('and a purchase that pays a part of it answers the debt that is left, as the list of subscriptions does', async () => {
    const parts = await subscribed(100);
    const { token } = parts.account;
    // Redis debited the request before it was booked.
    await plane.app
      .get(REDIS)
      .hincrby(keysOf(plane, parts.account.id, parts.model.id), 'bal', -130);
    await worker.process([usageEvent(130, parts)]);
    const renew = (tokens: number) =>
      plane.call('POST', '/models/renew', { token, body: { model_id: parts.model.id, tokens } });
    expect((await renew(10)).body).toMatchObject({ tokens: -20 });
    const { body } = await plane.call('GET', '/models/my', { token });
    expect(body.data).toMatchObject([{ tokens: -20 }]);
    expect((await renew(50)).body).toMatchObject({ tokens: 30 });
  });

  test('keeps its alert while it lasts, and closes it once the correction it waited for is booked', async () => {
    const parts = await subscribed(100);
    const rid = uuidv7(Date.now());
    const watch = plane.app.get(BalanceWatch, { strict: false });
    // The withdrawal takes what the reaper charged too much; the correction that says so comes later.
    const withdrawalId = await ledger.beginWithdrawal(parts.subscriptionId);
    await worker.process([
      withdrawEvent(30, { ...parts, withdrawalId }),
      reapEvent(70, { ...parts, rid }),
    ]);
    await worker.process([withdrawEvent(45, { ...parts, withdrawalId, rid, seq: 2 })]);
    await watch.look();
    expect(await openOverdrafts(parts)).toBe(1);
    await worker.process([usageEvent(25, { ...parts, rid, seq: 1, delta: -45 })]);
    await watch.look();
    expect(await openOverdrafts(parts)).toBe(0);
  });
});

describe('a withdrawal of more than the ledger has', () => {
  test.each([
    ['used before', { used: 30, surplus: 20, refunded: 90, overdraft: 20 }],
    ['never bought', { used: 0, surplus: 40, refunded: 100, overdraft: 40 }],
  ])(
    'refunds what was paid for, books tokens that were %s as overdraft and raises an alert',
    async (_what, { used, surplus, refunded, overdraft }) => {
      const parts = await subscribed(100);
      await worker.process([usageEvent(used, parts)]);
      await plane.app
        .get(REDIS)
        .hincrby(keysOf(plane, parts.account.id, parts.model.id), 'bal', surplus - used);
      const wallet = await ledger.wallet(parts.account);
      await plane.call('POST', '/models/unsubscribe', {
        token: parts.account.token,
        body: { model_id: parts.model.id },
      });
      expect(await stateOf(parts)).toEqual({ balance: 0, overdraft });
      expect((await ledger.wallet(parts.account)) - wallet).toBe(BigInt(refunded));
      expect(await overdraftAlerts(parts)).toEqual([{ detail: { tokens: overdraft } }]);
    },
  );

  test.each([
    ['one batch', [[0, 1, 2, 3]]],
    [
      'the withdrawals and their correction last',
      [
        [0, 1],
        [2, 3],
      ],
    ],
    ['the reap last', [[0, 2, 3], [1]]],
  ])(
    'is no overdraft where the correction it rests on comes no later: %s',
    async (_order, batches) => {
      const parts = await subscribed(100);
      const rid = uuidv7(Date.now());
      const withdrawalId = await ledger.beginWithdrawal(parts.subscriptionId);
      const events = [
        withdrawEvent(30, { ...parts, withdrawalId }),
        reapEvent(70, { ...parts, rid }),
        withdrawEvent(45, { ...parts, withdrawalId, rid, seq: 2 }),
        usageEvent(25, { ...parts, rid, seq: 1, delta: -45 }),
      ];
      for (const batch of batches)
        await worker.process(batch.map((index) => events[index] as RelayedEvent));
      expect(await stateOf(parts)).toEqual({ balance: 0, overdraft: 0 });
      expect(await overdraftAlerts(parts)).toEqual([]);
    },
  );
});
