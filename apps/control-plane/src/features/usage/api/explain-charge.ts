import {
  CHARGED_ROWS,
  isChargedToken,
  mapSetWeights,
  USAGE_ROWS,
  type ChargedTokenField,
  type WeightField,
} from '@tollgate/contracts';
import { premiumWeights } from '@tollgate/metering';
import { formatAmount, parseAmount } from '@tollgate/money';
import type { PriceResponse, PriceTag } from '../../models/models.dto.ts';
import type { UsageLogRow } from './usage-log-row.ts';
import type { UsageReceipt } from './usage-answers.ts';

/** Holds tokens by class, of a request or of an example. */
type TokensByClass = Readonly<Record<ChargedTokenField, number | null>>;
type Weights = PriceTag['tiers'][number]['weights'] | Pick<PriceTag, WeightField>;
type TieredWeights = Pick<PriceTag, WeightField | 'tiers'>;
const PROMPT_FIELDS = USAGE_ROWS.filter((row) => row.side === 'prompt' && isChargedToken(row)).map(
  ({ field }) => field as ChargedTokenField,
);

/** Returns the tier by which these tokens are charged; undefined for the version's own weights. */
function tierOf(
  tokens: TokensByClass,
  { tiers }: Pick<PriceTag, 'tiers'>,
): PriceTag['tiers'][number] | undefined {
  const prompt = PROMPT_FIELDS.reduce((sum, field) => sum + (tokens[field] ?? 0), 0);
  return tiers.findLast(({ above_prompt_tokens: above }) => above < prompt);
}

/** Returns the lines of an example request's charge, at the weights of its tier. */
export function exampleLines(
  tokens: TokensByClass,
  price: TieredWeights,
): ReturnType<typeof chargeLines> {
  return chargeLines(tokens, tierOf(tokens, price)?.weights ?? price);
}

/** Computes a charge step by step and exactly: the lines and their sum, before the single rounding up. An optional class has a line where it was used. */
function chargeLines(
  tokens: TokensByClass,
  price: Weights,
): Pick<UsageReceipt, 'lines'> & { sumMicros: bigint } {
  const lines = allLines(tokens, price);
  const sumMicros = lines.reduce((sum, line) => sum + microTokens(line.count, line.weight), 0n);
  const shown = lines.filter((line, index) => !CHARGED_ROWS[index]?.isOptional || line.count > 0);
  return {
    lines: shown.map((line) => ({
      ...line,
      charged: formatAmount(microTokens(line.count, line.weight)),
    })),
    sumMicros,
  };
}

function allLines(
  tokens: TokensByClass,
  price: Weights,
): Omit<UsageReceipt['lines'][number], 'charged'>[] {
  return CHARGED_ROWS.map(({ name, field, unit, parent }) => ({
    class: name,
    unit,
    count: tokens[field] ?? 0,
    weight: price[`weight_${name}`] ?? price[`weight_${parent ?? name}`] ?? '0',
  }));
}

/** Compares the tokens that caches wrote and read with the same tokens as plain input. */
function cacheSaved(tokens: TokensByClass, price: Weights): string | null {
  const lines = allLines(tokens, price).filter(
    ({ class: name, count }) => name.startsWith('cache_') && count > 0,
  );
  if (lines.length === 0) return null;
  const saved = lines.map(
    ({ count, weight }) => microTokens(count, price.weight_input) - microTokens(count, weight),
  );
  return formatAmount(saved.reduce((sum, each) => sum + each, 0n));
}

export function explainCharge(
  final: UsageLogRow,
  price: PriceResponse,
): Pick<
  UsageReceipt,
  'lines' | 'sum' | 'cache_saved' | 'explanation' | 'tier_above_prompt_tokens'
> {
  const premiums = final.premiums ?? [];
  const tier = tierOf(final, price);
  const weights = multipliedWeights(tier?.weights ?? price, price.multipliers, premiums);
  const { lines, sumMicros } = chargeLines(final, weights);
  const what = lines.some(({ unit }) => unit === 'call') ? 'Tokens and calls' : 'Tokens';
  const sum = formatAmount(sumMicros);
  const source =
    final.basis === 'reported'
      ? 'as the upstream reported them'
      : 'as the gateway counted them, because the upstream reported none';
  return {
    lines,
    sum,
    cache_saved: cacheSaved(final, weights),
    tier_above_prompt_tokens: tier?.above_prompt_tokens ?? null,
    explanation: `${what} ${source}, times the weights of price version ${price.id}${tier ? ` above ${tier.above_prompt_tokens} prompt tokens` : ''}${multiplied(price, premiums)}, make ${sum}; rounded up to ${final.charge ?? 0} charged tokens.`,
  };
}

/** Returns the weights as the node and the worker multiply them. */
function multipliedWeights(
  price: Weights,
  multipliers: PriceTag['multipliers'],
  premiums: readonly string[],
): Weights {
  const micro = (decimal: string): number => Number(parseAmount(decimal));
  const factors = Object.entries(multipliers).map(([premium, factor]): [string, number] => [
    premium,
    micro(factor),
  ]);
  const set = mapSetWeights(price, micro);
  const multiplied = premiumWeights(set, Object.fromEntries(factors), premiums);
  return mapSetWeights(multiplied, (weight) => formatAmount(BigInt(weight)));
}

function multiplied(price: PriceResponse, premiums: readonly string[]): string {
  if (premiums.length === 0) return '';
  const factors = premiums.map((premium) => `${premium} (x ${price.multipliers[premium]})`);
  return `, multiplied for ${factors.join(' and ')}`;
}

/** Weights are decimals of at most 6 places, so the product is an integer in millionths. */
function microTokens(count: number, weight: string): bigint {
  return BigInt(count) * parseAmount(weight);
}
