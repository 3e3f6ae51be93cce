import { divideCeil } from './divide.ts';
import { micros, type Micros } from './micros.ts';

export const TOKENS_PER_PRICE = 1_000_000n;

/** Returns the cost of `tokens` at a price per million tokens, rounded up to the next micro-unit. */
export function costOfTokens({
  tokens,
  pricePerMillion,
}: {
  tokens: bigint;
  pricePerMillion: Micros;
}): Micros {
  return micros(divideCeil(tokens * pricePerMillion, TOKENS_PER_PRICE));
}
