import type { DataSource } from 'typeorm';
import { z } from 'zod';

export interface WithdrawalRef {
  id: string;
  subscriptionId: number;
}

const begunRow = z
  .object({ id: z.string(), subscription_id: z.number() })
  .transform((row) => ({ id: row.id, subscriptionId: row.subscription_id }));

/** Those of the asked withdrawals that their subscription has begun: its last one, or one that its token ledger has. */
export async function readBegunWithdrawals(
  dataSource: Pick<DataSource, 'query'>,
  asked: readonly WithdrawalRef[],
): Promise<WithdrawalRef[]> {
  const rows: unknown[] = await dataSource.query(
    `SELECT w.id, w.subscription_id FROM unnest($1::uuid[], $2::int[]) AS w(id, subscription_id)
     WHERE EXISTS (SELECT FROM subscriptions s WHERE s.id = w.subscription_id AND s.withdrawal_id = w.id)
        OR EXISTS (SELECT FROM token_entries t WHERE t.subscription_id = w.subscription_id AND t.kind = 'withdrawal' AND t.reference = 'withdrawal:' || w.id || ':0')`,
    [asked.map(({ id }) => id), asked.map(({ subscriptionId }) => subscriptionId)],
  );
  return rows.map((row) => begunRow.parse(row));
}
