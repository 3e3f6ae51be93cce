import { Refusal, type RefusalCode } from '../refusals.ts';
import { mayRepeat, UpstreamFailure } from '../upstream/upstream-failure.ts';
import type { Asked } from './request/parse.ts';

/** Lists refusals that concern the hold. A thread that its id bounds may hold more than its messages do: the answer so far counts as its limit. */
const OF_HOLD: ReadonlySet<RefusalCode> = new Set([
  'balance_too_low',
  'budget_exceeded',
  'input_too_long',
  'tokens_held',
]);

/** Returns the error that the client of a request gets for this one. */
export function answerTo({ ask, resend }: Pick<Asked, 'ask' | 'resend'>, error: unknown): unknown {
  if (resend === null) return error;
  if (error instanceof UpstreamFailure) return mayRepeat(error, 'always') ? resend : error;
  const isOfHold = error instanceof Refusal && OF_HOLD.has(error.code);
  return isOfHold && ask.prompt.thread ? resend : error;
}
