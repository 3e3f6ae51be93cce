import type { Outcome, TokenUsage } from '@tollgate/contracts';
import { upstreamError, type StreamReader, type UpstreamError } from '@tollgate/protocols';
import type { ClientReply } from '../../http/client-reply.ts';
import { gatewayFailure, UpstreamFailure } from '../../upstream/upstream-failure.ts';
import type { MeterContext, Metered } from '../answers/answer-meter.ts';
import { REVOKED, stopError } from '../answers/no-answer.ts';
import { outcomeOfStop, type StopReason } from '../answers/stop-reason.ts';
import type { Closing } from './stream-state.ts';
import type { Counted } from '../answers/counted.ts';

const NO_BYTES = new Uint8Array();

export function causeOf(error: unknown): UpstreamError {
  return error instanceof UpstreamFailure ? error.error : upstreamError('server');
}

/** Returns the error of an upstream that broke off, or that stated an error its reader has read. */
export function errorOf(
  failure: UpstreamFailure | undefined,
  reader: Pick<StreamReader, 'error'> | null,
): UpstreamError {
  return failure?.error ?? reader?.error ?? upstreamError('server');
}

/** Returns the outcome of a stream that its upstream did not finish. */
export function failedOutcome(reader: Pick<StreamReader, 'hasContent'>): Outcome {
  return reader.hasContent ? 'upstream_interrupted' : 'upstream_failed';
}

/** Returns the upstream's failure by this outcome; null if it succeeded. A stream that was ended before its first content proves nothing. */
export function failureOf(outcome: Outcome, reader: StreamReader | null): UpstreamFailure | null {
  const isUpstreams = outcome === 'upstream_interrupted' || outcome === 'upstream_failed';
  if (isUpstreams) return new UpstreamFailure(reader?.error ?? upstreamError('server'));
  if (outcome === 'completed' || reader?.hasContent) return null;
  return gatewayFailure('unreachable', outcome, { evidence: 'given_up' });
}

export interface Ending {
  /** Returns the client's last bytes once its usage is counted and journalled. It gets the charge and may report it to the client. */
  readonly last?: (charged: TokenUsage) => Uint8Array;
  /** The client's connection breaks instead: the answer itself has not ended. */
  readonly isSevered?: boolean;
  /** Is the upstream's failure, if the outcome does not imply it. */
  readonly failure?: UpstreamFailure | null;
}

/** Returns the end that the client's stream gets. Where it is an error of the gateway's, the reader makes it now. */
export function endingOf(
  closing: Closing,
  {
    reader,
    stopReason,
    bytes,
    failure = null,
  }: Pick<Standing, 'reader' | 'stopReason'> & {
    bytes: Uint8Array;
    failure?: UpstreamFailure | null;
  },
): Ending {
  switch (closing) {
    case 'finished':
      return { last: (usage) => Buffer.concat([bytes, reader?.close(usage) ?? NO_BYTES]) };
    case 'stated':
      return { last: () => bytes };
    case 'finished_early':
      return { last: (usage) => reader?.finishEarly(usage) ?? NO_BYTES };
    case 'severed':
      return { isSevered: true, failure };
    case 'broken':
    case 'stopped': {
      const last = reader?.fail(failure?.error ?? stopError(stopReason) ?? REVOKED) ?? NO_BYTES;
      return { last: () => last, failure };
    }
    case 'left':
      return {};
    default:
      return closing satisfies never;
  }
}

export function meteredEnd(
  reply: ClientReply,
  {
    outcome,
    counted,
    firstTokenMs,
    last = () => NO_BYTES,
    isSevered = false,
  }: Pick<Metered, 'outcome' | 'counted' | 'firstTokenMs'> & Omit<Ending, 'failure'>,
): Metered {
  // A client that has left saw nothing of what came of its answer then.
  const isLeft = reply.isGone && outcome !== 'upstream_failed';
  return {
    outcome: isLeft ? 'client_closed' : outcome,
    counted,
    firstTokenMs,
    status: reply.status,
    sendEnd: () => (isSevered ? reply.cut() : reply.endWith(last(counted.usage))),
  };
}

/** Holds the state of a stream that is being read. */
export interface Standing {
  readonly reader: StreamReader | null;
  readonly stopReason: StopReason | null;
  readonly firstTokenMs: number | null;
}

/** Ends a cut answer that no upstream continues: what became of the request meanwhile decides, else it is an answer that broke. */
export function endOfCut(
  { reply, delivered }: Pick<MeterContext, 'reply' | 'delivered'>,
  { reader, stopReason, firstTokenMs }: Standing,
  { counted, error }: { counted: Counted; error: UpstreamError },
): Metered {
  const words = reader?.fail(stopError(stopReason) ?? error);
  const last = words?.byteLength ? words : (delivered?.unsaid ?? NO_BYTES);
  return {
    outcome: outcomeOfCut(reply, stopReason),
    counted,
    firstTokenMs,
    status: reply.status,
    sendEnd: () => reply.endWith(last),
  };
}

function outcomeOfCut(reply: Pick<ClientReply, 'isGone'>, stopReason: StopReason | null): Outcome {
  if (reply.isGone) return 'client_closed';
  return stopReason ? outcomeOfStop(stopReason) : 'upstream_interrupted';
}
