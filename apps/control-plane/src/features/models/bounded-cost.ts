import { costOfTokens, InvalidAmount, type Micros } from '@tollgate/money';
import { Refusal } from '../../platform/http/refusal.ts';

/** Throws token_limit when the cost of this many tokens at this price exceeds the largest amount of money. */
export function boundedCost(tokens: bigint, pricePerMillion: Micros): Micros {
  try {
    return costOfTokens({ tokens, pricePerMillion });
  } catch (error) {
    if (error instanceof InvalidAmount)
      throw new Refusal('token_limit', {
        detail: 'So many tokens at this price cost more than money is counted in',
        cause: error,
      });
    throw error;
  }
}
