import {
  isSideReported,
  outputTokensOf,
  outputUpTo,
  promptTokensOf,
  usageOf,
  type OutputUsage,
  type ReportedUsage,
  type TokenUsage,
} from '@tollgate/contracts';
import { judgeUsage, outputCeiling, type Judgement, type UsageBounds } from '@tollgate/metering';

export interface Reported {
  usage: ReportedUsage | null;
  isFinal: boolean;
}

/** Returns null where nothing is reported. */
export function judgedReport({ usage }: Reported, bounds: UsageBounds): Judgement | null {
  return usage && !saysNothing(usage) ? judgeUsage(usage, bounds) : null;
}

/** Returns the report without its output, because the gateway's count replaces a side that is not reported. */
export function promptReported(judged: Judgement | null): TokenUsage | null {
  const usage = judged?.usage;
  if (!usage || !isSideReported(usage, 'prompt')) return null;
  return usageOf(({ key, side }) => (side === 'prompt' ? usage[key] : 0));
}

export function finalOutput(judged: Judgement | null, { isFinal }: Reported): ReportedUsage | null {
  const usage = judged?.usage;
  return isFinal && usage && isSideReported(usage, 'output') ? usage : null;
}

/** Servers without accounting fill their usage with zeros: that is no report, and no reason to give the answer away. */
function saysNothing(usage: TokenUsage): boolean {
  return promptTokensOf(usage) + outputTokensOf(usage) === 0;
}

/**
 * Returns the charged part of a final report of output: up to the allowed or, if that is more, the delivered tokens, of shown text no more than the ceiling. The rest
 * is the installation's cost.
 */
export function outputCharged(
  usage: ReportedUsage | null,
  {
    limit,
    hiddenTokens,
    deliveredTokens,
  }: { limit: number; hiddenTokens: () => number; deliveredTokens: () => number },
): OutputUsage | null {
  if (!usage) return null;
  if (outputTokensOf(usage) <= limit) return outputUpTo(usage, limit);
  const hidden = Math.max(usage.reasoning, hiddenTokens());
  const delivered = Math.min(deliveredTokens(), outputCeiling(limit) + hidden);
  return outputUpTo(usage, Math.max(limit, delivered));
}
