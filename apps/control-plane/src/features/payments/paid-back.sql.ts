import type { EntityManager } from 'typeorm';
import { z } from 'zod';

const sumRow = z.object({ payment_id: z.number(), amount: z.coerce.bigint() });

/** Returns for each of these payments the amount that was or is being paid back, in micro-units. A payment without any has no entry. */
export async function paidBackOf(
  tx: EntityManager,
  paymentIds: readonly number[],
): Promise<ReadonlyMap<number, bigint>> {
  const rows: unknown[] = await tx.query(
    "SELECT payment_id, sum(amount)::text AS amount FROM payouts WHERE payment_id = ANY($1::int[]) AND status <> 'failed' GROUP BY payment_id",
    [paymentIds],
  );
  return new Map(rows.map((row) => sumRow.parse(row)).map((row) => [row.payment_id, row.amount]));
}
