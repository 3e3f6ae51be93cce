import { afterAll, beforeAll, expect } from '@jest/globals';
import { Transactions } from '../../platform/database/transactions.ts';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { LedgerService } from './ledger.service.ts';

export let plane: ControlPlane;

export let ledger: LedgerService;

export let transactions: Transactions;

export let user: { id: number; token: string };

export let other: { id: number; token: string };

export const asAdmin = <Path extends string>(
  path: Path,
  body: unknown,
  headers: Record<string, string> = {},
) => plane.call('POST', path, { token: plane.adminToken, body, headers });

export const balanceOf = async (who: { token: string }) =>
  (await plane.call('GET', '/wallet', { token: who.token })).body.balance as string;

/**
 * Checks rules that hold after any act: every transaction sums to zero, every balance is the sum of its entries and equals its last balance_after,
 * and no wallet is negative.
 */
export async function expectClosedBooks(): Promise<void> {
  expect(
    await plane.dataSource.query(
      'SELECT transaction_id FROM ledger_entries GROUP BY transaction_id HAVING sum(amount) <> 0',
    ),
  ).toEqual([]);
  expect(
    await plane.dataSource.query(
      `SELECT a.id FROM ledger_accounts a LEFT JOIN ledger_entries e ON e.ledger_account_id = a.id
       GROUP BY a.id HAVING a.balance <> coalesce(sum(e.amount), 0) OR a.balance <> coalesce((array_agg(e.balance_after ORDER BY e.id DESC))[1], 0)`,
    ),
  ).toEqual([]);
  expect(
    await plane.dataSource.query(
      "SELECT id FROM ledger_accounts WHERE kind = 'wallet' AND balance < 0",
    ),
  ).toEqual([]);
}

/** The spec that imports the parts calls this: one control plane and its two users serve them all. */
export function shareWallet(): void {
  beforeAll(async () => {
    plane = await startControlPlane();
    ledger = plane.app.get(LedgerService, { strict: false });
    transactions = plane.app.get(Transactions);
    [user, other] = await Promise.all([plane.createUser('anna'), plane.createUser('berta')]);
  }, 60_000);
  afterAll(() => plane?.stop());
}
