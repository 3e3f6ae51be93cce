import { describe, expect, test } from '@jest/globals';
import { micros, type Micros } from '@tollgate/money';
import fc from 'fast-check';
import { Refusal } from '../../platform/http/refusal.ts';
import type { LedgerAccountRef, LedgerKind } from './ledger.service.ts';
import {
  plane,
  ledger,
  transactions,
  user,
  asAdmin,
  balanceOf,
  expectClosedBooks,
} from './wallet-under-test.ts';

describe('the ledger', () => {
  test('any sequence of operations, in parallel, keeps the ledger balanced and no wallet negative', async () => {
    const wallets = await Promise.all(['p1', 'p2', 'p3'].map((name) => plane.createUser(name)));
    const house = ['payments', 'revenue', 'grants'] as const;
    const operation = fc.record({
      wallet: fc.nat(2),
      house: fc.constantFrom(...house),
      amount: fc.bigInt(1n, 5_000_000n),
      isCredit: fc.boolean(),
      reference: fc.nat(40),
    });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 30 }), async (operations) => {
        run += 1;
        await Promise.all(
          operations.map((step) => apply(step, `${run}:${step.reference}`, wallets)),
        );
        await expectClosedBooks();
      }),
      { numRuns: 15 },
    );
  });

  async function apply(
    step: {
      wallet: number;
      house: 'payments' | 'revenue' | 'grants';
      amount: bigint;
      isCredit: boolean;
    },
    reference: string,
    wallets: { id: number }[],
  ): Promise<void> {
    const wallet: LedgerAccountRef = { kind: 'wallet', userId: wallets[step.wallet]?.id ?? 0 };
    const kind: LedgerKind = step.isCredit ? 'recharge' : 'subscribe';
    const amount: Micros = micros(step.isCredit ? step.amount : -step.amount);
    const entries = [
      { account: wallet, amount },
      { account: { kind: step.house }, amount: micros(-amount) },
    ];
    await transactions
      .run((tx) => ledger.post(tx, { kind, reference, actorUserId: null, entries }))
      .catch((error: unknown) => {
        if (!(error instanceof Refusal && error.code === 'insufficient_funds')) throw error;
      });
  }

  test('posts one reference once, however often it is asked', async () => {
    const entries = [
      { account: { kind: 'wallet', userId: user.id } as const, amount: micros(5n) },
      { account: { kind: 'revenue' } as const, amount: micros(-5n) },
    ];
    const post = () =>
      transactions.run((tx) =>
        ledger.post(tx, {
          kind: 'refund',
          reference: 'withdrawal:x:0',
          actorUserId: null,
          entries,
        }),
      );
    const posted = await Promise.all(Array.from({ length: 20 }, post));
    expect(posted.filter((result) => result !== undefined)).toHaveLength(1);
  });

  test('100 parallel purchases never overdraw', async () => {
    const { id, token } = await plane.createUser('thrifty');
    await asAdmin('/wallet/admin-recharge', { user_id: id, amount: '10' });
    const buy = (index: number) =>
      transactions.run((tx) =>
        ledger.post(tx, {
          kind: 'renew',
          reference: `thrifty:${index}`,
          actorUserId: id,
          entries: [
            { account: { kind: 'wallet', userId: id }, amount: micros(-300_000n) },
            { account: { kind: 'revenue' }, amount: micros(300_000n) },
          ],
        }),
      );
    const results = await Promise.allSettled(Array.from({ length: 100 }, (_, index) => buy(index)));
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(33);
    expect(await balanceOf({ token })).toBe('0.1');
    await expectClosedBooks();
  });

  test.each([
    ['change an entry', 'UPDATE ledger_entries SET amount = amount + 1'],
    ['delete an entry', 'DELETE FROM ledger_entries'],
    ['empty the table', 'TRUNCATE ledger_entries, ledger_transactions'],
    ['rewrite a transaction', "UPDATE ledger_transactions SET note = 'x'"],
    ['overdraw a wallet', "UPDATE ledger_accounts SET balance = -1 WHERE kind = 'wallet'"],
    [
      'post out of balance',
      "WITH t AS (INSERT INTO ledger_transactions (kind, reference) VALUES ('adjustment', 'one-sided') RETURNING id) INSERT INTO ledger_entries (transaction_id, ledger_account_id, amount, balance_after) SELECT id, 1, 5, 5 FROM t",
    ],
  ])('the database itself refuses to %s', async (_, statement) => {
    await expect(plane.dataSource.query(statement)).rejects.toThrow();
    await expectClosedBooks();
  });
});
