import { formatAmount, parseAmount } from '@tollgate/money';
import type { PriceResponse } from '../../models/models.dto.ts';
import type { UsageLogRow } from './usage-log-row.ts';
import type { UsageReceipt } from './usage-answers.ts';

/** The arithmetic of a charge, step by step and exact: the lines, their sum, and the one rounding up. */
export function explainCharge(
  final: UsageLogRow,
  price: PriceResponse,
): Pick<UsageReceipt, 'lines' | 'sum' | 'explanation'> {
  const classes = [
    { class: 'input', tokens: final.input_tokens, weight: price.weight_input },
    { class: 'cache_read', tokens: final.cache_read_tokens, weight: price.weight_cache_read },
    { class: 'cache_write', tokens: final.cache_write_tokens, weight: price.weight_cache_write },
    { class: 'output', tokens: final.output_tokens, weight: price.weight_output },
  ] as const;
  const lines = classes.map(({ class: name, tokens, weight }) => ({
    class: name,
    tokens: tokens ?? 0,
    weight,
    charged: formatAmount(microTokens(tokens ?? 0, weight)),
  }));
  const sum = formatAmount(
    classes.reduce((total, { tokens, weight }) => total + microTokens(tokens ?? 0, weight), 0n),
  );
  const source =
    final.basis === 'reported'
      ? 'as the upstream reported them'
      : 'as the gateway counted them, because the upstream reported none';
  return {
    lines,
    sum,
    explanation: `Tokens ${source}, times the weights of price version ${price.id}, make ${sum}; rounded up to ${final.charge ?? 0} charged tokens.`,
  };
}

/** Weights are decimals of at most 6 places: in millionths the product is an integer. */
function microTokens(tokens: number, weight: string): bigint {
  return BigInt(tokens) * parseAmount(weight);
}
