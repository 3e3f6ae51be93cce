import { NO_USAGE, tokenFieldsOf, type RelayedEvent, type UsageFinal } from '@tollgate/contracts';
import type { ReadEvent } from '../features/usage/ingest/read-event.ts';
import { uuidv7 } from '../platform/http/visitor.ts';

/** Is 10:20:30.400 in the morning. */
export const BEGAN_AT_MS = Date.UTC(2026, 10, 28, 10, 20, 30, 400);
export const RID = uuidv7(BEGAN_AT_MS, '00000000-0000-4000-8000-000000000001');
/** No id of one kind equals one of another kind. */
export const REQUESTED = {
  account_id: 11,
  key_id: 22,
  subscription_id: 33,
  model_id: 44,
  price_version_id: 55,
  node: 'node-a:3',
};
export const WITHDRAWAL = {
  kind: 'withdraw' as const,
  account_id: 11,
  subscription_id: 33,
  model_id: 44,
  withdrawal_id: RID,
};

/** Makes a stream that used 70 tokens of input and was charged as many. */
export function finalOf(changes: Partial<UsageFinal> = {}): UsageFinal {
  return {
    kind: 'usage',
    ...REQUESTED,
    protocol: 'chat',
    is_stream: true,
    upstream_id: 66,
    attempts: [{ upstream_id: 66, route_id: 77, status: 200, duration_ms: 120 }],
    outcome: 'completed',
    status: 200,
    ...tokenFieldsOf({ ...NO_USAGE, input: 70 }),
    charge: 70,
    basis: 'reported',
    started_at: BEGAN_AT_MS + 5,
    first_token_ms: 80,
    duration_ms: 130,
    ...changes,
  };
}

export function relayedOf(
  payload: object | string,
  changes: Partial<RelayedEvent> = {},
): RelayedEvent {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  return {
    ...{ shard: 's09', epoch: 'now', outboxId: '5-7', rid: RID, seq: '0', delta: '70' },
    payload: text,
    ...changes,
  };
}

/** Returns an event as the ingest has read it. */
export function readOf(
  payload: object,
  { seq = 0, delta = 70, unreadable = [] as string[], beganAtMs = BEGAN_AT_MS } = {},
): ReadEvent {
  return {
    event: { rid: RID, seq, delta, payload } as ReadEvent['event'],
    relayed: relayedOf(payload, { seq: String(seq), delta: String(delta) }),
    ...{ isSigned: false, beganAtMs, unreadable, unknown: [] },
  };
}
