import { isReasoningModel } from '@tollgate/protocols';
import type { SnapshotModel } from '@tollgate/snapshot';
import type { Candidate } from '../../snapshot/routing-index.ts';
import type { CallDeadlines } from '../../upstream/upstream-call.ts';

/** Models that think before they speak are silent for minutes, also on a stream. */
const REASONING_SILENCE_MS = 300_000;
/** A JSON answer comes whole, so its first byte may take as long as all of a long answer. */
const JSON_FIRST_BYTE_MS = 300_000;
const REASONING_JSON_FIRST_BYTE_MS = 600_000;

/**
 * How long one attempt may take. `hasOther`: another route could be asked. An attempt that shows signs of life is given up for another route's sake
 * only: without one, a JSON answer is waited for up to the upstream's total, and a stream that sends keep-alives too.
 */
export function deadlinesFor(
  { route, upstream }: Candidate,
  { model, isStream, hasOther }: { model: SnapshotModel; isStream: boolean; hasOther: boolean },
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
