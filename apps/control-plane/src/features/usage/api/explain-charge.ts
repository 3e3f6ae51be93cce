import { premiumWeights } from '@tollgate/metering';
import { formatAmount, parseAmount } from '@tollgate/money';
import type { PriceResponse, PriceTag } from '../../models/models.dto.ts';
import type { UsageLogRow } from './usage-log-row.ts';
import type { UsageReceipt } from './usage-answers.ts';

/** Tokens by class: of a request, or of an example. */
interface TokensByClass {
  input_tokens: number | null;
  cache_read_tokens: number | null;
  cache_write_tokens: number | null;
  output_tokens: number | null;
}

type Weights = Pick<
  PriceTag,
  'weight_input' | 'weight_output' | 'weight_cache_read' | 'weight_cache_write'
>;

/** The arithmetic of a charge, step by step and exact: the lines and their sum, before the one rounding up. */
export function chargeLines(
  tokens: TokensByClass,
  price: Weights,
): Pick<UsageReceipt, 'lines'> & { sumMicros: bigint } {
  const classes = [
    { class: 'input', tokens: tokens.input_tokens, weight: price.weight_input },
    { class: 'cache_read', tokens: tokens.cache_read_tokens, weight: price.weight_cache_read },
    { class: 'cache_write', tokens: tokens.cache_write_tokens, weight: price.weight_cache_write },
    { class: 'output', tokens: tokens.output_tokens, weight: price.weight_output },
  ] as const;
  const lines = classes.map(({ class: name, tokens: count, weight }) => ({
    class: name,
    tokens: count ?? 0,
    weight,
    charged: formatAmount(microTokens(count ?? 0, weight)),
  }));
  const sumMicros = classes.reduce(
    (total, { tokens: count, weight }) => total + microTokens(count ?? 0, weight),
    0n,
  );
  return { lines, sumMicros };
}

export function explainCharge(
  final: UsageLogRow,
  price: PriceResponse,
): Pick<UsageReceipt, 'lines' | 'sum' | 'explanation'> {
  const premiums = final.premiums ?? [];
  const { lines, sumMicros } = chargeLines(final, multipliedTag(price, premiums));
  const sum = formatAmount(sumMicros);
  const source =
    final.basis === 'reported'
      ? 'as the upstream reported them'
      : 'as the gateway counted them, because the upstream reported none';
  return {
    lines,
    sum,
    explanation: `Tokens ${source}, times the weights of price version ${price.id}${multiplied(price, premiums)}, make ${sum}; rounded up to ${final.charge ?? 0} charged tokens.`,
  };
}

/** The weights as the node and the worker multiplied them. */
function multipliedTag(price: PriceResponse, premiums: readonly string[]): Weights {
  const micro = (decimal: string): number => Number(parseAmount(decimal));
  const text = (weight: number): string => formatAmount(BigInt(weight));
  const multipliers = Object.entries(price.multipliers).map(
    ([premium, factor]): [string, number] => [premium, micro(factor)],
  );
  const weights = premiumWeights(
    {
      weight_input: micro(price.weight_input),
      weight_output: micro(price.weight_output),
      weight_cache_read: micro(price.weight_cache_read),
      weight_cache_write: micro(price.weight_cache_write),
    },
    Object.fromEntries(multipliers),
    premiums,
  );
  return {
    weight_input: text(weights.weight_input),
    weight_output: text(weights.weight_output),
    weight_cache_read: text(weights.weight_cache_read),
    weight_cache_write: text(weights.weight_cache_write),
  };
}

function multiplied(price: PriceResponse, premiums: readonly string[]): string {
  if (premiums.length === 0) return '';
  const factors = premiums.map((premium) => `${premium} (x ${price.multipliers[premium]})`);
  return `, multiplied for ${factors.join(' and ')}`;
}

/** Weights are decimals of at most 6 places: in millionths the product is an integer. */
function microTokens(tokens: number, weight: string): bigint {
  return BigInt(tokens) * parseAmount(weight);
}
