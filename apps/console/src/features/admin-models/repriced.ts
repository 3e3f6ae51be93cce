import type { Price } from '../../api/catalogue.ts';
import { weightsFrom } from '../../api/tables.ts';

/** Returns another price per million with the weights, tiers and multipliers of this one. */
export function repriced(price: Price | undefined, amount: string) {
  return {
    price_per_million: amount,
    ...weightsFrom(price ?? {}),
    tiers: price?.tiers ?? [],
    multipliers: price?.multipliers ?? {},
  };
}
