import type { Outcome } from '@tollgate/contracts';
import { upstreamError, type StreamReader, type UpstreamError } from '@tollgate/protocols';
import { gatewayFailure, UpstreamFailure } from '../upstream/upstream-failure.ts';
import type { MeterContext, Metered } from './answer-meter.ts';
import { REVOKED, stopping } from './no-answer.ts';
import type { Counted } from './tally.ts';

/** What ends a stream from the gateway's side. */
export type StopReason = 'balance_exhausted' | 'access_revoked' | 'node_stopped';

/** What the client reads of it; null where there is no error to report. */
export function stopError(reason: StopReason | null): UpstreamError | null {
  if (reason === 'node_stopped') return stopping().error;
  return reason === 'access_revoked' ? REVOKED : null;
}

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

/** Of a stream that is being read. */
export interface Standing {
  readonly reader: StreamReader | null;
  readonly stopReason: StopReason | null;
  readonly firstTokenMs: number | null;
}

/** The end of a cut answer that no upstream continues: what became of the request meanwhile decides, else it is an answer that broke. */
export function endOfCut(
  { reply, delivered }: Pick<MeterContext, 'reply' | 'delivered'>,
  { reader, stopReason, firstTokenMs }: Standing,
  { counted, error }: { counted: Counted; error: UpstreamError },
): Metered {
  const words = reader?.fail(stopError(stopReason) ?? error);
  const last = words?.byteLength ? words : (delivered?.unsaid ?? new Uint8Array());
  return {
    outcome: reply.isGone ? 'client_closed' : (stopReason ?? 'upstream_interrupted'),
    counted,
    firstTokenMs,
    status: reply.status,
    sendEnd: () => reply.endWith(last),
  };
}
