import type { Outcome } from '@tollgate/contracts';
import { upstreamError, type StreamReader } from '@tollgate/protocols';
import { gatewayFailure, UpstreamFailure } from '../upstream/upstream-failure.ts';

/** How a stream has ended that its upstream did not finish. */
export function failedOutcome(reader: StreamReader): Outcome {
  return reader.hasContent ? 'upstream_interrupted' : 'upstream_failed';
}

/** What an answer that ended so says of its upstream; null when it did well. One that was ended before its first content says nothing. */
export function failureOf(outcome: Outcome, reader: StreamReader | null): UpstreamFailure | null {
  const isUpstreams = outcome === 'upstream_interrupted' || outcome === 'upstream_failed';
  if (isUpstreams) return new UpstreamFailure(reader?.error ?? upstreamError('server'));
  if (outcome === 'completed' || reader?.hasContent) return null;
  return gatewayFailure('unreachable', outcome, { evidence: 'given_up' });
}
