import { affordableOutput, isHeldWhole, type HoldPlan, type HoldRequest } from '@tollgate/metering';
import type { Ask } from '@tollgate/protocols';
import { countPrompt } from '../request/count-prompt.ts';

interface Grant {
  readonly request: HoldRequest;
  readonly plan: HoldPlan;
  readonly grantedTokens: number;
  /** Limits the output that the key allows; 0 allows any. */
  readonly outputTokensMax?: number | undefined;
}

/**
 * A JSON request that was granted less than its bound gets a lower output limit, so that it cannot cost more than it holds. The prompt is
 * counted exactly then: its byte bound would take away output the caller can pay for.
 */
export function outputLimitFor(
  ask: Ask,
  { request, plan, grantedTokens, outputTokensMax = 0 }: Grant,
): number | null | Promise<number> {
  if (request.model.kind === 'embedding') return null;
  const limit =
    outputTokensMax > 0 ? Math.min(plan.outputLimit, outputTokensMax) : plan.outputLimit;
  return isHeldWhole(ask) && grantedTokens < plan.wantTokens
    ? paidLimit(ask, { request, grantedTokens, limit })
    : limit;
}

async function paidLimit(
  ask: Ask,
  { request, grantedTokens, limit }: Pick<Grant, 'request' | 'grantedTokens'> & { limit: number },
): Promise<number> {
  const exactTextTokens = request.exactTextTokens ?? (await countPrompt(ask.prompt));
  return Math.min(limit, affordableOutput({ ...request, exactTextTokens }, grantedTokens));
}

/** A JSON request without a limit would hold its model's default in full: on a small balance nothing could run beside it. */
export function leavesHalf({ ask, model }: Pick<HoldRequest, 'model'> & { ask: Ask }): boolean {
  return isHeldWhole(ask) && ask.outputLimit === null && model.kind !== 'embedding';
}

/** A report is judged by the limit that goes upstream, not by the one that was asked for. */
export function judgedBy(plan: HoldPlan, ask: Ask, outputLimit: number | null): HoldPlan {
  if (outputLimit === null || outputLimit === plan.outputLimit) return plan;
  const outputTokens = plan.bounds.outputTokens - (plan.outputLimit - outputLimit) * ask.choices;
  return { ...plan, bounds: { ...plan.bounds, outputTokens } };
}
