import { CHARGED, weightOf, type ChargeWeights, type TierWeights } from './class-weights.ts';

/** Returns the weights that charge a whole request with this many prompt tokens: those of the last tier below them, otherwise the version's own. */
export function weightsAt(promptTokens: number, price: ChargeWeights): TierWeights {
  const tier = price.tiers?.findLast(({ above_prompt_tokens: above }) => above < promptTokens);
  return tier?.weights ?? price;
}

/**
 * Returns a price that charges no request with at most this many prompt tokens less than its tier does. It sizes holds, because only the upstream
 * counts the prompt.
 */
export function dearestReached(price: ChargeWeights, promptTokens: number): ChargeWeights {
  return reached(price, promptTokens, Math.max);
}

/** Returns a price that charges no request with at most this many prompt tokens more than its tier does. */
export function cheapestReached(price: ChargeWeights, promptTokens: number): ChargeWeights {
  return reached(price, promptTokens, Math.min);
}

/** Chooses for each class one weight among the tiers that this many prompt tokens may be in. Tiers beyond them stay. */
function reached(
  price: ChargeWeights,
  promptTokens: number,
  choose: (...weights: number[]) => number,
): ChargeWeights {
  const { tiers = [] } = price;
  const below = tiers.filter(({ above_prompt_tokens: above }) => above < promptTokens);
  if (below.length === 0) return price;
  const all = [price, ...below.map(({ weights }) => weights)];
  const chosen = CHARGED.map((row) => [
    row.weight,
    choose(...all.map((one) => weightOf(one, row))),
  ]);
  const beyond = tiers.slice(below.length);
  return { ...Object.fromEntries(chosen), ...(beyond.length > 0 && { tiers: beyond }) };
}

/** Returns the ranges of prompt lengths, ascending: the price that bounds their cost, and the length up to which it applies. */
export function tierBands(price: ChargeWeights): { price: ChargeWeights; upTo: number }[] {
  const thresholds = price.tiers?.map(({ above_prompt_tokens: above }) => above) ?? [];
  return [0, ...thresholds].map((above, index) => ({
    price: dearestReached(price, above + 1),
    upTo: thresholds[index] ?? Infinity,
  }));
}
