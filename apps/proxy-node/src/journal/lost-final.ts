import { tokenFieldsOf, type UsageFinal } from '@tollgate/contracts';
import { chargeOf } from '@tollgate/metering';
import { toUsage } from './journal-line.ts';
import type { LostHold } from './journal-replay.ts';

const STATUS_OK = 200;
const STATUS_UNANSWERED = 500;
const DURATION_MS_MAX = 86_400_000;

/** The final of a request whose node died under it: charged for what the journal had counted, at most 100 ms of the stream less than was delivered. */
export function lostFinal({ hold, counts, lastSeenAtMs }: LostHold, node: string): UsageFinal {
  const usage = toUsage(counts);
  const wasAnswered = Object.values(counts).some((tokens) => tokens > 0);
  return {
    kind: 'usage',
    account_id: hold.accountId,
    key_id: hold.keyId,
    subscription_id: hold.subscriptionId,
    model_id: hold.modelId,
    price_version_id: hold.price.id,
    node,
    protocol: hold.protocol,
    is_stream: hold.isStream,
    upstream_id: null,
    attempts: [],
    outcome: 'node_lost',
    status: wasAnswered ? STATUS_OK : STATUS_UNANSWERED,
    ...tokenFieldsOf(usage),
    charge: chargeOf(usage, hold.price),
    basis: 'estimated',
    ...(hold.price.premiums && { premiums: hold.price.premiums }),
    started_at: hold.startedAtMs,
    first_token_ms: null,
    // Both by the wall clock, which may have been set in between.
    duration_ms: Math.min(DURATION_MS_MAX, Math.max(0, lastSeenAtMs - hold.startedAtMs)),
  };
}
