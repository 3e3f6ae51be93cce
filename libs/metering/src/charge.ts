import {
  mapSetWeights,
  promptTokensOf,
  type CallCounts,
  type CallKey,
  type TokenUsage,
} from '@tollgate/contracts';
import { divideCeil, divideFloor } from '@tollgate/money';
import type { PriceVersion } from '@tollgate/snapshot';
import { CHARGED, weightOf, type ChargeWeights, type TierWeights } from './class-weights.ts';
import { weightsAt } from './price-tiers.ts';

/** Weights are stored in millionths: weight 1 = 1_000_000. */
const MICRO_WEIGHTS_PER_WEIGHT = 1_000_000;
const TOKEN_WEIGHTS: ReadonlySet<string> = new Set(
  CHARGED.filter(({ isToken }) => isToken).map(({ weight }) => weight),
);
const CALLS = CHARGED.filter(({ isToken }) => !isToken);

/**
 * Returns the charged tokens of one request: its tokens by class times the weights of its price version, or of the tier that its prompt is in, rounded up once
 * (docs/design/metering.md#deduction).
 * Informative classes, such as reasoning, are part of a charged one and are not charged a second time.
 *
 * Throws RangeError when a count or weight is not a non-negative safe integer, or the charge is beyond one:
 * a charge that had lost a bit would never equal the other side's recomputation.
 */
export function chargeOf(usage: TokenUsage, price: ChargeWeights): number {
  const weights = price.tiers === undefined ? price : weightsAt(promptTokensOf(usage), price);
  let microTokens = 0;
  for (const row of CHARGED)
    microTokens += counted(usage[row.key]) * counted(weightOf(weights, row));
  const upward = microTokens + MICRO_WEIGHTS_PER_WEIGHT - 1;
  // No term exceeds the sum, so every step was exact when the sum is a safe integer.
  if (Number.isSafeInteger(upward))
    return (upward - (upward % MICRO_WEIGHTS_PER_WEIGHT)) / MICRO_WEIGHTS_PER_WEIGHT;
  return largeChargeOf(usage, weights);
}

function largeChargeOf(usage: TokenUsage, price: TierWeights): number {
  const microTokens = CHARGED.reduce(
    (sum, row) => sum + BigInt(usage[row.key]) * BigInt(weightOf(price, row)),
    0n,
  );
  const charge = Number(divideCeil(microTokens, BigInt(MICRO_WEIGHTS_PER_WEIGHT)));
  if (!Number.isSafeInteger(charge)) throw new RangeError('the charge is beyond the safe integers');
  return charge;
}

/** Returns the dearest weight of the classes of a side, in millionths. A request's classes are unknown before its answer. */
export function dearestWeight(price: TierWeights, side: 'prompt' | 'output'): number {
  let dearest = 0;
  for (const row of CHARGED)
    if (row.side === side && row.isToken) dearest = Math.max(dearest, weightOf(price, row));
  return dearest;
}

/** Returns the cheapest weight of the classes of a side, in millionths. */
export function cheapestWeight(price: TierWeights, side: 'prompt' | 'output'): number {
  let cheapest = Infinity;
  for (const row of CHARGED)
    if (row.side === side && row.isToken) cheapest = Math.min(cheapest, weightOf(price, row));
  return cheapest;
}

/** Returns the charged tokens of these calls, in millionths. */
export function callMicros(calls: CallCounts, price: TierWeights): bigint {
  return CALLS.reduce(
    (sum, row) => sum + BigInt(calls[row.key as CallKey] ?? 0) * BigInt(weightOf(price, row)),
    0n,
  );
}

/** Returns the output tokens that this many charged tokens pay for, rounded down; negative for a debt, Infinity where output is free. */
export function outputPaidBy(chargedTokens: number, price: TierWeights): number {
  const weight = dearestWeight(price, 'output');
  if (weight === 0) return Infinity;
  return Number(
    divideFloor(BigInt(chargedTokens) * BigInt(MICRO_WEIGHTS_PER_WEIGHT), BigInt(weight)),
  );
}

/** Returns the version in force at `atMs`: the last one not after it. `prices` ascend by effective_at. It returns undefined before the first. */
export function priceInForce<Price extends Pick<PriceVersion, 'effective_at'>>(
  prices: readonly Price[],
  atMs: number,
): Price | undefined {
  return prices.findLast((price) => price.effective_at <= atMs);
}

/** Maps every weight of tokens that is set, including those of tiers. The weights of calls stay. */
export function mapWeights(price: ChargeWeights, map: (weight: number) => number): ChargeWeights {
  const { tiers } = price;
  return {
    ...mapTierWeights(price, map),
    ...(tiers && {
      tiers: tiers.map((tier) => ({ ...tier, weights: mapTierWeights(tier.weights, map) })),
    }),
  };
}

function mapTierWeights(price: TierWeights, map: (weight: number) => number): TierWeights {
  return mapSetWeights(price, (weight, field) => (TOKEN_WEIGHTS.has(field) ? map(weight) : weight));
}

function counted(value: number): number {
  if (!Number.isSafeInteger(value) || value < 0)
    throw new RangeError('counts and weights are non-negative safe integers');
  return value;
}
