import { beforeAll, expect, test } from '@jest/globals';
import { until } from '@tollgate/harness';
import { ledger, plane, shareLedgerPlane } from '../../testing/ledger-plane-under-test.ts';
import { ClosedBalances } from './closed-balances.ts';
import { closingOf } from './closing-under-test.ts';

const PAID_WITHIN_MS = 5_000;

let closed: ClosedBalances;

shareLedgerPlane();
beforeAll(() => {
  closed = plane.app.get(ClosedBalances, { strict: false });
});

test('subscribing, streaming and unsubscribing again and again gains nothing: 100 times', async () => {
  const { customer, closedWhileRunning, finalAfterReap } = closingOf(plane);
  const who = await customer();
  for (let turn = 0; turn < 100; turn += 1) {
    const wallet = await ledger.wallet(who.account);
    const parts = await closedWhileRunning({ leaseMs: 1 }, who);
    await finalAfterReap(parts, 390);
    const isSettled = async (): Promise<boolean> => {
      await closed.look();
      return (await ledger.wallet(who.account)) === wallet - 390n;
    };
    await until('the account has paid', isSettled, PAID_WITHIN_MS);
  }
  expect(await ledger.wallet(who.account)).toBe(10_000_000n - 39_000n);
  expect(await ledger.violations()).toEqual({});
}, 120_000);
