import { costOfTokens, InvalidAmount, type Micros } from '@tollgate/money';
import { Refusal } from '../../platform/http/refusal.ts';

/** Throws token_limit where so many tokens at this price cost more than money is counted in. */
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
