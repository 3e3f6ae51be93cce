import type { Outcome } from '@tollgate/contracts';
import { upstreamError, type UpstreamError } from '@tollgate/protocols';
import type { ClientReply } from '../../http/client-reply.ts';
import { Refusal, REFUSALS, retryHeaders } from '../../refusals.ts';
import { gatewayFailure, UpstreamFailure } from '../../upstream/upstream-failure.ts';
import type { Metered } from './answer-meter.ts';
import { outcomeOfStop, type StopReason } from './stop-reason.ts';
import { NOTHING_COUNTED, type Counted } from './counted.ts';

/** Is the failure of a request that is charged, as its provider bills it. */
export class ChargedFailure extends UpstreamFailure {
  readonly counted: Counted;

  constructor(failure: UpstreamFailure, counted: Counted) {
    super(failure.error, failure);
    this.counted = counted;
  }
}

/** Another node, or the next process of this one, takes the request at once. */
const STOPPED_RETRY_MS = 1_000;

/** Returns the metering of a request that used nothing. */
export function nothing(outcome: Outcome, { status }: ClientReply): Metered {
  return {
    outcome,
    counted: NOTHING_COUNTED,
    firstTokenMs: null,
    status,
    sendEnd: () => undefined,
  };
}

export function notServing(): Refusal {
  return new Refusal('not_serving', { headers: retryHeaders(STOPPED_RETRY_MS) });
}

export function stopping(): UpstreamFailure {
  return gatewayFailure('overloaded', 'The gateway is being restarted; send the request again.');
}

/** All upstreams rest: nothing was sent anywhere. A provider's rate limit stays one for every request that meets it, so that clients treat all of them alike. */
export class AllRest extends UpstreamFailure {
  constructor(waitMs: number, isRateLimited = false) {
    const limited = `The upstreams of this model are limiting requests; try again in ${Math.ceil(waitMs / 1_000)} s.`;
    const message = isRateLimited ? limited : REFUSALS.no_route.message;
    const kind = isRateLimited ? 'rate_limited' : 'overloaded';
    super(upstreamError(kind, { message, retryAfterMs: waitMs || null }), { evidence: 'unsent' });
  }
}

export const REVOKED = upstreamError('server', {
  message: 'Access was withdrawn while the answer was being streamed.',
});

/** Neither the upstream nor the caller causes these: another node, or this one when it has Redis and CPU again, takes the request. */
const UNCONFIRMED = upstreamError('overloaded', {
  message:
    'The gateway could not renew its hold on the balance in time and ended the answer; access is not withdrawn. Send the request again.',
});

/** Returns the error that the client reads; null if there is no error to report. */
export function stopError(reason: StopReason | null): UpstreamError | null {
  switch (reason) {
    case 'node_stopped':
      return stopping().error;
    case 'access_revoked':
      return REVOKED;
    case 'unconfirmed':
      return UNCONFIRMED;
    case 'balance_exhausted':
    case null:
      return null;
  }
}

/** Key, account or subscription were withdrawn, or the hold was not confirmed, before an upstream had answered. */
export class AccessEnded extends UpstreamFailure {
  readonly outcome: Outcome;

  constructor(reason: StopReason) {
    super(stopError(reason) ?? REVOKED, { evidence: 'given_up' });
    this.outcome = reason === 'unconfirmed' ? outcomeOfStop(reason) : 'access_revoked';
  }
}
