import type { DataSource } from 'typeorm';
import { z } from 'zod';

const refundRow = z.object({ amount: z.coerce.bigint() });

/** What the refund with this reference paid into a wallet, in micro-units; 0 where none is booked. */
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
