import type { DataSource, EntityManager } from 'typeorm';
import { z } from 'zod';
import type { WithdrawalRef } from './read-subscriptions.sql.ts';
import type { Subscribe } from './subscriptions.dto.ts';

const bookedRow = z.object({
  status: z.enum(['closing', 'closed']),
  tokens: z.coerce.number(),
});

/** Entries of both ledgers are booked under these references. */
export const withdrawalReference = (id: string): string => `withdrawal:${id}:0`;

/**
 * Creates the subscription, or opens a closed one under the next generation. Returns its id; null when it is not closed. Parallel calls wait for the
 * row, and one of them succeeds.
 */
export async function openSubscription(
  tx: EntityManager,
  userId: number,
  body: Subscribe,
): Promise<number | null> {
  const rows: { id: number }[] = await tx.query(
    `INSERT INTO subscriptions (user_id, model_id, auto_recharge_threshold, auto_recharge_amount) VALUES ($1, $2, $3, $4)
     ON CONFLICT (user_id, model_id) DO UPDATE SET status = 'active', generation = subscriptions.generation + 1, revision = subscriptions.revision + 1,
       closed_at = NULL, drain = false, auto_recharge_threshold = excluded.auto_recharge_threshold, auto_recharge_amount = excluded.auto_recharge_amount,
       auto_recharge_retry_at = NULL, auto_recharge_failures = 0, updated_at = now()
     WHERE subscriptions.status = 'closed'
     RETURNING id`,
    [
      userId,
      body.model_id,
      body.auto_recharge_threshold ?? null,
      body.auto_recharge_amount ?? null,
    ],
  );
  return rows[0]?.id ?? null;
}

/** Marks the subscriptions as closing, each with its withdrawal. */
export async function markClosing(
  tx: EntityManager,
  withdrawals: readonly WithdrawalRef[],
  drain: boolean,
): Promise<void> {
  await tx.query(
    `UPDATE subscriptions s SET status = 'closing', withdrawal_id = v.withdrawal_id, drain = $3, revision = s.revision + 1, updated_at = now()
     FROM unnest($1::int[], $2::uuid[]) AS v(id, withdrawal_id) WHERE s.id = v.id`,
    [
      withdrawals.map(({ subscriptionId }) => subscriptionId),
      withdrawals.map(({ id }) => id),
      drain,
    ],
  );
}

/** Returns the tokens of the booked withdrawal, and `closing` until it is booked, whatever the subscription's later state. */
export async function bookedWithdrawal(
  dataSource: Pick<DataSource, 'query'>,
  { id, subscriptionId }: WithdrawalRef,
): Promise<z.output<typeof bookedRow>> {
  const rows: unknown[] = await dataSource.query(
    `SELECT CASE WHEN s.withdrawal_id = $2 AND s.status = 'closing' THEN s.status ELSE 'closed' END AS status,
       coalesce((SELECT -t.delta FROM token_entries t WHERE t.subscription_id = s.id AND t.kind = 'withdrawal' AND t.reference = $3), 0) AS tokens
     FROM subscriptions s WHERE s.id = $1`,
    [subscriptionId, id, withdrawalReference(id)],
  );
  return bookedRow.parse(rows[0]);
}
