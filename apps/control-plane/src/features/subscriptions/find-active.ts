import { In, type EntityManager } from 'typeorm';
import { refusedField } from '../../platform/http/field-faults.ts';
import { Refusal } from '../../platform/http/refusal.ts';
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

/** Returns the 404 of a call that names the model of a missing subscription. */
export function notSubscribed(): Refusal {
  const message = 'The account is not subscribed to this model';
  return new Refusal('not_subscribed', { errors: [refusedField('model_id', message)] });
}
