import { usageOfFinal, type TokenField } from '@tollgate/contracts';
import { chargeOf } from './charge.ts';
import type { ChargeWeights } from './class-weights.ts';
import { premiumWeights, type Multipliers } from './premium-price.ts';

/** Holds a final's tokens and the dearer services that it was charged for. */
export type ChargedFinal = Readonly<Partial<Record<TokenField, number | undefined>>> & {
  readonly premiums?: readonly string[] | null | undefined;
};

/**
 * Computes the charge of a final from its price version. Nodes compute it before the final leaves them; the worker and the audits of loads compare.
 * Throws RangeError as `chargeOf` and `premiumWeights` do.
 */
export function chargeOfFinal(
  final: ChargedFinal,
  { multipliers, ...price }: ChargeWeights & { readonly multipliers?: Multipliers | undefined },
): number {
  return chargeOf(
    usageOfFinal(final),
    final.premiums ? premiumWeights(price, multipliers ?? {}, final.premiums) : price,
  );
}
