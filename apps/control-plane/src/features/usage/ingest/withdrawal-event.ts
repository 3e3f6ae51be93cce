import type { RelayedEvent } from '@tollgate/contracts';
import type { Withdrawn } from '../../live-state/live-facts.ts';

/** Returns a withdrawal as an event for the ingest. It has no position in an outbox yet. */
export function withdrawalEvent(withdrawn: Withdrawn): RelayedEvent {
  const payload = {
    kind: 'withdraw',
    account_id: withdrawn.userId,
    subscription_id: withdrawn.subscriptionId,
    model_id: withdrawn.modelId,
    withdrawal_id: withdrawn.withdrawalId,
  };
  return {
    shard: '',
    epoch: '',
    outboxId: '',
    rid: withdrawn.withdrawalId,
    seq: '0',
    delta: String(withdrawn.tokens),
    payload: JSON.stringify(payload),
  };
}
