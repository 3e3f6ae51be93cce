import { cheapestWeight } from '../charge.ts';
import type { TierWeights } from '../class-weights.ts';

/** Says how many plain tokens a hold covers: `base`, and `rate` for each million charged tokens. */
export interface PlainTokens {
  rate: number;
  base: number;
}

const MILLION = 1_000_000;
/** Output below this weight (a thousandth, in millionths) hardly changes the charge, so the output limit bounds it. */
const WEIGHT_MIN = 1_000;

/**
 * Bounds the plain tokens of a request by its charged tokens, for budgets that count reported tokens. The whole prompt may be of its cheapest class;
 * the rest of the hold then pays for more output, whose tokens cost at least the cheapest class.
 */
export function plainTokensOf(
  price: TierWeights,
  { promptTokens, outputTokens }: { promptTokens: number; outputTokens: number },
): PlainTokens {
  const output = cheapestWeight(price, 'output');
  if (output < WEIGHT_MIN || outputTokens === 0)
    return { rate: 0, base: Math.min(Number.MAX_SAFE_INTEGER, promptTokens + outputTokens) };
  const paid = Math.floor(promptTokens * (cheapestWeight(price, 'prompt') / output));
  return {
    rate: Math.ceil((MILLION * MILLION) / output),
    base: Math.max(0, promptTokens - paid),
  };
}
