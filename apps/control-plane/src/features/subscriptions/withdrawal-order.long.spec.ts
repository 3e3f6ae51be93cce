import { expect, test } from '@jest/globals';
import type { RelayedEvent } from '@tollgate/contracts';
import { uuidv7 } from '../../platform/http/visitor.ts';
import { ledger, plane, shareLedgerPlane, worker } from '../../testing/ledger-plane-under-test.ts';
import {
  reapEvent,
  usageEvent,
  withdrawEvent,
  type EventParts,
} from '../../testing/ledger-under-test.ts';

shareLedgerPlane();

/** Buys 60 tokens for 60 micro-units, then 40 for 200: the money shows whose tokens are refunded. */
async function bought(): Promise<EventParts> {
  const [account, model] = [await ledger.account('10'), await ledger.model('1')];
  const call = <Path extends string>(path: Path, tokens: number) =>
    plane.call('POST', path, { token: account.token, body: { model_id: model.id, tokens } });
  await call('/models/subscribe', 60);
  const price = (
    await ledger.asAdmin('POST', '/models/pricing', { model_id: model.id, price_per_million: '5' })
  ).body;
  await call('/models/renew', 40);
  return {
    account,
    model: { ...model, priceId: price.id },
    subscriptionId: (await ledger.subscription(account, model)).id,
  };
}

/** Returns the events of a hold of 70 whose node vanished: 30 are withdrawn beside it, the reaper charges all of it, its final 25, and the 45 charged too much are withdrawn too. */
async function eventsOf(parts: EventParts): Promise<RelayedEvent[]> {
  const rid = uuidv7(Date.now());
  const withdrawalId = await ledger.beginWithdrawal(parts.subscriptionId);
  return [
    withdrawEvent(30, { ...parts, withdrawalId }),
    reapEvent(70, { ...parts, rid }),
    usageEvent(25, { ...parts, rid, seq: 1, delta: -45 }),
    withdrawEvent(45, { ...parts, withdrawalId, rid, seq: 2 }),
  ];
}

function ordersOf<T>(items: readonly T[]): T[][] {
  return items.length < 2
    ? [[...items]]
    : items.flatMap((item, index) =>
        ordersOf(items.toSpliced(index, 1)).map((rest) => [item, ...rest]),
      );
}

const ORDERS = ordersOf([0, 1, 2, 3]);
test.each(ORDERS)(
  'what is left is refunded in full when its events are booked in the order %i %i %i %i',
  async (...order) => {
    const parts = await bought();
    const events = await eventsOf(parts);
    for (const index of order) await worker.process([events[index] as RelayedEvent]);
    // 75 of 100 tokens leave, the dearer and newer 40 first: 200 + 35 of the 260 micro-units they cost.
    expect(await ledger.wallet(parts.account)).toBe(10_000_000n - 260n + 235n);
    expect(await ledger.subscription(parts.account, parts.model)).toMatchObject({
      balance: '0',
      overdraft: '0',
    });
    expect(
      await ledger.query(
        'SELECT tokens::int, remaining::int, withdrawn::int, refunded::int FROM token_lots WHERE subscription_id = $1 ORDER BY id',
        [parts.subscriptionId],
      ),
    ).toEqual([
      { tokens: 60, remaining: 0, withdrawn: 35, refunded: 35 },
      { tokens: 40, remaining: 0, withdrawn: 40, refunded: 200 },
    ]);
  },
);

test('the ledger balances after withdrawals in any order', async () => {
  expect(await ledger.violations()).toEqual({});
});
