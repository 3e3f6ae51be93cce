import type { DataSource } from 'typeorm';
import { z } from 'zod';

/** Returns whether money was ever booked in this installation. */
export async function hasTransactions(source: Pick<DataSource, 'query'>): Promise<boolean> {
  const rows: unknown[] = await source.query('SELECT 1 FROM ledger_transactions LIMIT 1');
  return rows.length > 0;
}

const balanceRow = z.object({
  kind: z.enum(['wallet', 'payments', 'revenue', 'grants', 'overdraft']),
  balance: z.string().transform(BigInt),
});

/** Returns the sum of all wallets and the balance of each kind of house account, in micro-units. They add up to 0. */
export async function balancesByKind(
  dataSource: Pick<DataSource, 'query'>,
): Promise<z.output<typeof balanceRow>[]> {
  const rows: unknown[] = await dataSource.query(
    'SELECT kind, sum(balance)::text AS balance FROM ledger_accounts GROUP BY kind',
  );
  return rows.map((row) => balanceRow.parse(row));
}

const refundRow = z.object({ amount: z.coerce.bigint() });

/** Returns the amount that the refund with this reference paid into a wallet, in micro-units; 0 when none is booked. */
export async function bookedRefund(
  dataSource: Pick<DataSource, 'query'>,
  reference: string,
): Promise<bigint> {
  const rows: unknown[] = await dataSource.query(
    `SELECT e.amount FROM ledger_transactions l JOIN ledger_entries e ON e.transaction_id = l.id AND e.amount > 0
     WHERE l.kind = 'refund' AND l.reference = $1`,
    [reference],
  );
  const [refund] = rows.map((row) => refundRow.parse(row));
  return refund?.amount ?? 0n;
}

/** Joins the wallet of an account as `wallet`. An account without money may have none. */
export const joinWallet = (userId: string): string =>
  `LEFT JOIN ledger_accounts wallet ON wallet.kind = 'wallet' AND wallet.user_id = ${userId}`;
