import { tokenFieldsOf, type TokenUsage, type UsageFinal } from '@tollgate/contracts';
import { chargeOf } from '@tollgate/metering';
import type { OpenHold } from './open-hold.ts';

const DURATION_MS_MAX = 86_400_000;

/** Describes the end of a request of which only the hold is known. */
export interface HoldEnding extends Pick<
  UsageFinal,
  'node' | 'upstream_id' | 'attempts' | 'key_hash' | 'outcome' | 'status' | 'basis' | 'traceparent'
> {
  readonly usage: TokenUsage;
  /** Is the time in Unix ms. */
  readonly endedAtMs: number;
}

/** Returns the final of a request that has outlived its process or connection. */
export function finalOfHold(
  hold: OpenHold,
  { usage, endedAtMs, traceparent, ...ending }: HoldEnding,
): UsageFinal {
  return {
    kind: 'usage',
    account_id: hold.accountId,
    key_id: hold.keyId,
    subscription_id: hold.subscriptionId,
    model_id: hold.modelId,
    price_version_id: hold.price.id,
    protocol: hold.protocol,
    is_stream: hold.isStream,
    ...ending,
    ...tokenFieldsOf(usage),
    charge: chargeOf(usage, hold.price),
    ...(hold.price.premiums && { premiums: hold.price.premiums }),
    ...(hold.claims !== undefined && { budgets: hold.claims }),
    started_at: hold.startedAtMs,
    first_token_ms: null,
    // The wall clock gives both times and may have been set in between.
    duration_ms: Math.min(DURATION_MS_MAX, Math.max(0, endedAtMs - hold.startedAtMs)),
    ...(traceparent !== undefined && { traceparent }),
  };
}
