import { In, type EntityManager } from 'typeorm';
import { notSubscribed } from './not-subscribed.ts';
import { SubscriptionRow } from './subscription.entity.ts';

/** Throws not_subscribed when the account has no open subscription to the model. */
export async function findActive(
  tx: EntityManager,
  { userId, modelId }: { userId: number; modelId: number },
  lock?: 'pessimistic_write',
): Promise<SubscriptionRow> {
  const where = { userId, modelId, status: In(['active']) };
  const row = await tx
    .getRepository(SubscriptionRow)
    .findOne({ where, ...(lock && { lock: { mode: lock } }) });
  if (!row) throw notSubscribed();
  return row;
}
