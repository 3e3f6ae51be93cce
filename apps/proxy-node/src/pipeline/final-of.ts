import { tokenFieldsOf, wasTried, type UsageFinal } from '@tollgate/contracts';
import { chargeOf } from '@tollgate/metering';
import type { Admitted } from './admission/admission.ts';
import type { Metered } from './answers/answer-meter.ts';
import { ATTEMPTS_SHOWN_MAX, type RouteAttempt } from './sending/attempt.ts';
import type { Asked } from './request/parse.ts';
import { priceAsAnswered } from './request/premiums.ts';

/** Holds the part of a turn that its final describes. */
interface EndedTurn {
  readonly admitted: Admitted;
  readonly asked: Asked;
  readonly attempts: readonly RouteAttempt[];
  /** Is true when the request was ended by hand: its answer ended as if its client had left. */
  readonly isEnded: boolean;
}

export interface Ending {
  readonly turn: EndedTurn;
  readonly metered: Metered;
  readonly node: string;
  /** Is the time at which the request arrived, in Unix ms. */
  readonly startedAtMs: number;
  readonly durationMs: number;
  /** Is the trace context of a traced request. */
  readonly traceparent: string | undefined;
}

/** Returns the final of a request, which closes its hold. */
export function finalOf({
  turn: { admitted, asked, attempts, isEnded },
  metered,
  node,
  startedAtMs,
  durationMs,
  traceparent,
}: Ending): UsageFinal {
  const { usage, basis, services } = metered.counted;
  const price = services
    ? priceAsAnswered(admitted.price, asked.model.prices, services)
    : admitted.price;
  return {
    kind: 'usage',
    account_id: admitted.accountId,
    key_id: admitted.keyId,
    subscription_id: admitted.subscriptionId,
    model_id: asked.model.id,
    price_version_id: price.id,
    node,
    protocol: asked.ask.protocol,
    is_stream: asked.ask.isStream,
    upstream_id: attempts.findLast(wasTried)?.upstream_id ?? null,
    attempts: attempts.slice(0, ATTEMPTS_SHOWN_MAX),
    outcome: isEnded && metered.outcome === 'client_closed' ? 'access_revoked' : metered.outcome,
    status: metered.status,
    ...tokenFieldsOf(usage),
    charge: chargeOf(usage, price),
    key_hash: admitted.keyHash,
    basis,
    ...whereThere(price, admitted),
    started_at: startedAtMs,
    first_token_ms: metered.firstTokenMs,
    duration_ms: durationMs,
    ...(traceparent !== undefined && { traceparent }),
  };
}

/** Returns the fields that a final has only where there is something to say. */
function whereThere(
  { premiums }: Admitted['price'],
  { claims }: Admitted,
): Pick<UsageFinal, 'premiums' | 'budgets'> {
  return { ...(premiums && { premiums }), ...(claims !== '' && { budgets: claims }) };
}
