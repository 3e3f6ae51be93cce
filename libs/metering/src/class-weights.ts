import {
  isChargedToken,
  USAGE_ROWS,
  type OwnWeightField,
  type WeightField,
} from '@tollgate/contracts';
import type { PriceVersion } from '@tollgate/snapshot';

/** Holds the weights of a price version, and those of its tiers. */
export type ChargeWeights = TierWeights & Pick<PriceVersion, 'tiers'>;
export type TierWeights = Pick<PriceVersion, WeightField>;

export const CHARGED = USAGE_ROWS.filter((row) => row.isCharged).map((row) => ({
  key: row.key,
  side: row.side,
  isToken: isChargedToken(row),
  weight: `weight_${row.name}` as WeightField,
  /** Every price version has this weight; it is null for an optional class without a parent. */
  parentWeight: (row.parent === null && row.isOptional
    ? null
    : `weight_${row.parent ?? row.name}`) as OwnWeightField | null,
}));

/** Returns the weight of a class; a missing one is the parent's, or 0 without a parent. */
export function weightOf(
  price: TierWeights,
  { weight, parentWeight }: (typeof CHARGED)[number],
): number {
  return price[weight] ?? (parentWeight === null ? 0 : price[parentWeight]);
}
