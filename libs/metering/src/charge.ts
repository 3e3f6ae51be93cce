import {
  isChargedToken,
  USAGE_ROWS,
  WEIGHT_FIELDS,
  type CallCounts,
  type CallKey,
  type OwnWeightField,
  type TokenUsage,
  type WeightField,
} from '@tollgate/contracts';
import { divideCeil, divideFloor } from '@tollgate/money';
import type { PriceVersion } from '@tollgate/snapshot';

/** Weights are stored in millionths: weight 1 = 1_000_000. */
const MICRO_WEIGHTS_PER_WEIGHT = 1_000_000;

export type ChargeWeights = Pick<PriceVersion, WeightField>;

const CHARGED = USAGE_ROWS.filter((row) => row.isCharged).map((row) => ({
  key: row.key,
  side: row.side,
  isToken: isChargedToken(row),
  weight: `weight_${row.name}` as WeightField,
  /** Every price version has this weight; null for an optional class without a parent. */
  parentWeight: (row.parent === null && row.isOptional
    ? null
    : `weight_${row.parent ?? row.name}`) as OwnWeightField | null,
}));
const TOKEN_WEIGHTS: ReadonlySet<WeightField> = new Set(
  CHARGED.filter(({ isToken }) => isToken).map(({ weight }) => weight),
);
const CALLS = CHARGED.filter(({ isToken }) => !isToken);
type ChargedRow = (typeof CHARGED)[number];

/**
 * Charged tokens of one request: its tokens by class times the weights of its price version, rounded up once (docs/design/metering.md#deduction).
 * Informative classes, such as reasoning, are part of a charged one and are not charged a second time.
 *
 * Throws RangeError when a count or weight is not a non-negative safe integer, or the charge is beyond one:
 * a charge that had lost a bit would never equal the other side's recomputation.
 */
export function chargeOf(usage: TokenUsage, price: ChargeWeights): number {
  let microTokens = 0;
  for (const row of CHARGED) microTokens += counted(usage[row.key]) * counted(weightOf(price, row));
  const upward = microTokens + MICRO_WEIGHTS_PER_WEIGHT - 1;
  // No term is above the sum: where it is a safe integer, every step was exact.
  if (Number.isSafeInteger(upward))
    return (upward - (upward % MICRO_WEIGHTS_PER_WEIGHT)) / MICRO_WEIGHTS_PER_WEIGHT;
  return largeChargeOf(usage, price);
}

function largeChargeOf(usage: TokenUsage, price: ChargeWeights): number {
  const microTokens = CHARGED.reduce(
    (sum, row) => sum + BigInt(usage[row.key]) * BigInt(weightOf(price, row)),
    0n,
  );
  const charge = Number(divideCeil(microTokens, BigInt(MICRO_WEIGHTS_PER_WEIGHT)));
  if (!Number.isSafeInteger(charge)) throw new RangeError('the charge is beyond the safe integers');
  return charge;
}

/** The dearest weight of what an upstream reads or generates, in millionths: which class its tokens are of is not known before. */
export function dearestWeight(price: ChargeWeights, side: 'prompt' | 'output'): number {
  let dearest = 0;
  for (const row of CHARGED)
    if (row.side === side && row.isToken) dearest = Math.max(dearest, weightOf(price, row));
  return dearest;
}

/** The cheapest weight of what an upstream reads or generates, in millionths. */
export function cheapestWeight(price: ChargeWeights, side: 'prompt' | 'output'): number {
  let cheapest = Infinity;
  for (const row of CHARGED)
    if (row.side === side && row.isToken) cheapest = Math.min(cheapest, weightOf(price, row));
  return cheapest;
}

/** Charged tokens of so many calls, in millionths. */
export function callMicros(calls: CallCounts, price: ChargeWeights): bigint {
  return CALLS.reduce(
    (sum, row) => sum + BigInt(calls[row.key as CallKey] ?? 0) * BigInt(weightOf(price, row)),
    0n,
  );
}

/** Output tokens that so many charged tokens pay for, rounded down; below zero for a debt, Infinity where output is free. */
export function outputPaidBy(chargedTokens: number, price: ChargeWeights): number {
  const weight = dearestWeight(price, 'output');
  if (weight === 0) return Infinity;
  return Number(
    divideFloor(BigInt(chargedTokens) * BigInt(MICRO_WEIGHTS_PER_WEIGHT), BigInt(weight)),
  );
}

/** The version in force at `atMs`: the last one not after it. `prices` ascend by effective_at. Undefined before the first. */
export function priceInForce<Price extends Pick<PriceVersion, 'effective_at'>>(
  prices: readonly Price[],
  atMs: number,
): Price | undefined {
  return prices.findLast((price) => price.effective_at <= atMs);
}

/** The same weights, each one of tokens that is set mapped. A call has a price of its own. */
export function mapWeights(price: ChargeWeights, map: (weight: number) => number): ChargeWeights {
  const set = WEIGHT_FIELDS.flatMap((field) => {
    const weight = price[field];
    if (weight === undefined) return [];
    return [[field, TOKEN_WEIGHTS.has(field) ? map(weight) : weight]];
  });
  return Object.fromEntries(set);
}

/** A weight that is not set is the parent's, or 0 without one. */
function weightOf(price: ChargeWeights, { weight, parentWeight }: ChargedRow): number {
  return price[weight] ?? (parentWeight === null ? 0 : price[parentWeight]);
}

function counted(value: number): number {
  if (!Number.isSafeInteger(value) || value < 0)
    throw new RangeError('counts and weights are non-negative safe integers');
  return value;
}
