import { asksForThinking, isReasoningModel, type Ask } from '@tollgate/protocols';
import { stopsBillingOnClose, type SnapshotModel } from '@tollgate/snapshot';
import { monotonicMs } from '../../monotonic-ms.ts';
import type { Candidate } from '../../snapshot/routing-index.ts';
import { PacedAttempt, RoutePaces } from '../../upstream/pace/route-paces.ts';
import type { CallDeadlines } from '../../upstream/pace/call-deadlines.ts';

/** Models that think before they speak are silent for minutes, also on a stream. */
const REASONING_SILENCE_MS = 300_000;
/** A JSON answer comes whole, so its first byte may take as long as all of a long answer. */
const JSON_FIRST_BYTE_MS = 300_000;
const REASONING_JSON_FIRST_BYTE_MS = 600_000;
/** Is the limit of an upstream for which no operator has set any: `schema/routing.ts` of the control plane's migrations. */
const UNSET_MS = 120_000;

interface Waiting {
  readonly model: SnapshotModel;
  readonly isStream: boolean;
  /** Is true where another route could be asked. */
  readonly hasOther: boolean;
}

/** States the cost to the installation of giving an attempt up. `delivery` says if another route may continue its answer. */
interface Stake {
  readonly model: SnapshotModel;
  readonly ask: Ask;
  readonly hasOther: boolean;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly delivery: {
    readonly isOver: boolean;
    readonly delivered: { readonly isContinued: boolean } | null;
  };
}

/** Sets how long attempts may take. While another route stands by, the pace of their own route bounds them as well. */
export class AttemptLimits {
  readonly #paces: RoutePaces;

  /** Takes the number of processes of the node as `workers`. */
  constructor(workers: number) {
    this.#paces = new RoutePaces(workers);
  }

  /** Takes the tokens of one continuation: its prompt, and what was delivered; false when the hour's are used up. */
  takes(modelId: number, tokens: number): boolean {
    return this.#paces.takes(modelId, tokens, monotonicMs());
  }

  of(candidate: Candidate, stake: Stake): CallDeadlines {
    const { model, ask, hasOther, promptTokens, outputTokens, delivery } = stake;
    const { isStream } = ask;
    const waiting = { model, isStream, hasOther };
    const deadlines = deadlinesFor(candidate, waiting);
    if (!isPaced(candidate, waiting, ask)) return deadlines;
    const isClosed = isStream && stopsBillingOnClose(candidate.upstream);
    const tokens = promptTokens + (isClosed ? 0 : outputTokens * ask.choices);
    const pace = this.#paces.began(
      {
        modelId: model.id,
        routeId: candidate.route.id,
        isStream,
        size: isStream ? promptTokens : outputTokens,
      },
      monotonicMs(),
    );
    const isOver = (): boolean => delivery.isOver;
    const isContinued = (): boolean => delivery.delivered?.isContinued ?? false;
    return { ...deadlines, pace: new PacedAttempt(pace, { tokens, isContinued, isOver }) };
  }
}

/**
 * Limits the time of one attempt. An attempt that shows signs of life is given up for another route's sake
 * only: without one, a JSON answer is waited for up to the upstream's total, and a stream that sends keep-alives too.
 */
export function deadlinesFor(
  { route, upstream }: Candidate,
  { model, isStream, hasOther }: Waiting,
): CallDeadlines {
  const isReasoning = isReasoningModel(route.upstream_model);
  const silenceMs = isReasoning ? REASONING_SILENCE_MS : 0;
  const set = model.failover;
  return {
    firstByteMs: isStream
      ? null
      : (set?.first_byte_timeout_ms ??
        (hasOther ? (isReasoning ? REASONING_JSON_FIRST_BYTE_MS : JSON_FIRST_BYTE_MS) : null)),
    firstTokenMs: isStream
      ? (set?.first_token_timeout_ms ?? Math.max(upstream.first_token_timeout_ms, silenceMs))
      : null,
    isKeptByKeepAlives: !hasOther,
    idleMs: isStream
      ? (set?.idle_timeout_ms ?? Math.max(upstream.idle_timeout_ms, silenceMs))
      : upstream.idle_timeout_ms,
    totalMs: upstream.total_timeout_ms,
  };
}

/** Returns whether the route's own pace bounds the wait. It does not on the last route, where an operator has set limits, where a model thinks, searches by itself or has tools of its provider at work in silence, and where `replay` forbids another attempt. */
export function isPaced(
  { route, upstream }: Candidate,
  { model: { failover, reads_more_than_sent: reads }, isStream, hasOther }: Waiting,
  ask: Pick<Ask, 'serverTools' | 'body' | 'isBackground'>,
): boolean {
  if (!hasOther || reads || ask.isBackground || ask.serverTools.length > 0) return false;
  const set = isStream
    ? (failover?.first_token_timeout_ms ?? failover?.idle_timeout_ms)
    : failover?.first_byte_timeout_ms;
  const isSet =
    set !== undefined ||
    upstream.first_token_timeout_ms !== UNSET_MS ||
    upstream.idle_timeout_ms !== UNSET_MS;
  if (isSet || (failover?.replay ?? 'always') !== 'always') return false;
  return !isReasoningModel(route.upstream_model) && !asksForThinking(ask.body);
}
