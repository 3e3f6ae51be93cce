import type { TokenUsage } from '@tollgate/contracts';
import type { UsageBounds } from './hold-plan.ts';

const ABSURD_FACTOR = 10;
/** Providers add prompt text of their own; a tiny bound must not make their honest report look absurd. */
const BOUND_MIN_TOKENS = 1_000;

export type Judgement =
  | { kind: 'accepted'; usage: TokenUsage }
  /** Not to be billed from; the request is charged by the gateway's own count, and `reason` is for the operator. */
  | { kind: 'quarantined'; reason: 'not_a_count' | 'prompt_beyond_bound' | 'output_beyond_bound' };

/**
 * Judges what an upstream reported (docs/design/metering.md#reported-usage, S27): usage from outside is untrusted, and a negative count would raise a balance.
 * `reasoning` is only informative: more of it than output is cut to the output, not refused (https://github.com/vercel/ai/issues/18614).
 */
export function quarantine(usage: TokenUsage, bounds: UsageBounds): Judgement {
  const { input, cacheRead, cacheWrite, output, reasoning } = usage;
  if (
    ![input, cacheRead, cacheWrite, output, reasoning, input + cacheRead + cacheWrite].every(
      isCount,
    )
  )
    return { kind: 'quarantined', reason: 'not_a_count' };
  if (bounds.promptTokens !== null && input + cacheRead + cacheWrite > absurd(bounds.promptTokens))
    return { kind: 'quarantined', reason: 'prompt_beyond_bound' };
  if (output > absurd(bounds.outputTokens))
    return { kind: 'quarantined', reason: 'output_beyond_bound' };
  return {
    kind: 'accepted',
    usage: { input, cacheRead, cacheWrite, output, reasoning: Math.min(reasoning, output) },
  };
}

function absurd(boundTokens: number): number {
  return ABSURD_FACTOR * Math.max(boundTokens, BOUND_MIN_TOKENS);
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
