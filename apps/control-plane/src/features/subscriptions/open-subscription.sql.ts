import type { EntityManager } from 'typeorm';
import type { Subscribe } from './subscriptions.dto.ts';

/** Creates the subscription or opens a closed one again under the next generation, and returns its id; null when it is not closed. Parallel calls queue on the row; one wins. */
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
