import type { TokenUsage } from '@tollgate/contracts';
import { divideCeil, divideFloor } from '@tollgate/money';
import type { PriceVersion } from '@tollgate/snapshot';

/** Weights are stored in millionths: weight 1 = 1_000_000. */
const MICRO_WEIGHTS_PER_WEIGHT = 1_000_000n;

export type ChargeWeights = Pick<
  PriceVersion,
  'weight_input' | 'weight_output' | 'weight_cache_read' | 'weight_cache_write'
>;

/**
 * Charged tokens of one request: its tokens by class times the weights of its price version, rounded up once (docs/design/metering.md#deduction).
 * Reasoning is a part of `output` and is not billed a second time.
 *
 * Throws RangeError when a count or weight is not a non-negative safe integer, or the charge is beyond one:
 * a charge that had lost a bit would never equal the other side's recomputation.
 */
export function chargeOf(usage: TokenUsage, price: ChargeWeights): number {
  const microTokens =
    weighted(usage.input, price.weight_input) +
    weighted(usage.output, price.weight_output) +
    weighted(usage.cacheRead, price.weight_cache_read) +
    weighted(usage.cacheWrite, price.weight_cache_write);
  const charge = Number(divideCeil(microTokens, MICRO_WEIGHTS_PER_WEIGHT));
  if (!Number.isSafeInteger(charge)) throw new RangeError('the charge is beyond the safe integers');
  return charge;
}

/** Output tokens that so many charged tokens pay for, rounded down; below zero for a debt, Infinity where output is free. */
export function outputPaidBy(
  chargedTokens: number,
  { weight_output }: Pick<ChargeWeights, 'weight_output'>,
): number {
  if (weight_output === 0) return Infinity;
  return Number(
    divideFloor(BigInt(chargedTokens) * MICRO_WEIGHTS_PER_WEIGHT, BigInt(weight_output)),
  );
}

/** The version in force at `atMs`: the last one not after it. `prices` ascend by effective_at. Undefined before the first. */
export function priceInForce<Price extends Pick<PriceVersion, 'effective_at'>>(
  prices: readonly Price[],
  atMs: number,
): Price | undefined {
  return prices.findLast((price) => price.effective_at <= atMs);
}

function weighted(count: number, microWeight: number): bigint {
  if (!isCount(count) || !isCount(microWeight))
    throw new RangeError('counts and weights are non-negative safe integers');
  return BigInt(count) * BigInt(microWeight);
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
