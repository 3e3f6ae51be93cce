import { Refusal } from '../../platform/http/refusal.ts';

/** 404 of a call that names the model of a subscription which does not exist. */
export function notSubscribed(): Refusal {
  const message = 'The account is not subscribed to this model';
  return new Refusal('not_subscribed', { errors: [{ field: 'model_id', message }] });
}
