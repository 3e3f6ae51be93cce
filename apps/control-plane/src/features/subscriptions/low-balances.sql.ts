import type { EntityManager } from 'typeorm';
import { z } from 'zod';

/** A tenth or less of the last purchase is left and nothing buys by itself; a failing auto-recharge has an alert of its own. */
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

/** Returns those of these subjects of which nothing is overdrawn any more: by the correction it waited for, or by a purchase. */
export async function repaidOf(tx: EntityManager, subjects: readonly string[]): Promise<string[]> {
  const rows: unknown[] = await tx.query(REPAID, [subjects]);
  return rows.map((row) => subjectRow.parse(row).subject);
}
