import type { EntityManager } from 'typeorm';
import { z } from 'zod';

/** Selects subscriptions with a tenth or less of the last purchase left and without auto-recharge. A failing auto-recharge has its own alert. */
export const LOW_BALANCES = `
  SELECT 'subscription:' || subscription.id AS subject, subscription.user_id, subscription.model_id, subscription.balance::text, lot.tokens::text AS bought
  FROM subscriptions subscription
  CROSS JOIN LATERAL (SELECT tokens FROM token_lots WHERE subscription_id = subscription.id ORDER BY credit_seq DESC LIMIT 1) lot
  WHERE subscription.status = 'active' AND coalesce(subscription.auto_recharge_amount, 0) = 0 AND subscription.balance <= lot.tokens / 10`;
export const lowBalanceRow = z.object({
  subject: z.string(),
  user_id: z.number(),
  model_id: z.number(),
  balance: z.string(),
  bought: z.string(),
});
const subjectRow = z.object({ subject: z.string() });

const REPAID = `
  SELECT subject FROM unnest($1::text[]) AS open(subject)
  WHERE NOT EXISTS (SELECT FROM subscriptions WHERE 'subscription:' || id = subject AND overdraft > 0)`;

/** Returns those of these subjects that are no longer overdrawn, after a correction or a purchase. */
export async function repaidOf(tx: EntityManager, subjects: readonly string[]): Promise<string[]> {
  const rows: unknown[] = await tx.query(REPAID, [subjects]);
  return rows.map((row) => subjectRow.parse(row).subject);
}
