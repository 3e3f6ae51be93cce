import type { DataSource } from 'typeorm';
import { z } from 'zod';

const balanceRow = z.object({
  kind: z.enum(['wallet', 'payments', 'revenue', 'grants', 'overdraft']),
  balance: z.string().transform(BigInt),
});

/** All wallets together, and each kind of house account, in micro-units. They add up to 0. */
export async function balancesByKind(
  dataSource: Pick<DataSource, 'query'>,
): Promise<z.output<typeof balanceRow>[]> {
  const rows: unknown[] = await dataSource.query(
    'SELECT kind, sum(balance)::text AS balance FROM ledger_accounts GROUP BY kind',
  );
  return rows.map((row) => balanceRow.parse(row));
}
