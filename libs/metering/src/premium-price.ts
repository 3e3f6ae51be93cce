import { divideCeil } from '@tollgate/money';
import { mapWeights } from './charge.ts';
import type { ChargeWeights } from './class-weights.ts';

const MICRO = 1_000_000n;

/** Maps premiums to millionths, for example `service_tier=priority` to 2_000_000. */
export type Multipliers = Readonly<Record<string, number>>;

/** Returns the weights of a request that buys these dearer services: each weight of tokens, including tiers, times the multiplier of every service, rounded up after each. Node and worker compute it from the same price version, so that a charge can be checked. It throws RangeError for a premium without a multiplier in the version. */
export function premiumWeights(
  price: ChargeWeights,
  multipliers: Multipliers,
  premiums: readonly string[],
): ChargeWeights {
  const factors = premiums.map((premium) => multiplierOf(multipliers, premium));
  const times = (weight: number): number => {
    const product = factors.reduce(
      (value, factor) => divideCeil(value * BigInt(factor), MICRO),
      BigInt(weight),
    );
    if (product > BigInt(Number.MAX_SAFE_INTEGER))
      throw new RangeError('a weight times its multipliers is beyond the safe integers');
    return Number(product);
  };
  return mapWeights(price, times);
}

function multiplierOf(multipliers: Multipliers, premium: string): number {
  const factor = Object.hasOwn(multipliers, premium) ? multipliers[premium] : undefined;
  if (factor === undefined)
    throw new RangeError(`the price version has no multiplier for ${premium}`);
  return factor;
}
