import { InvalidAmount, parseAmount, type Micros } from '@tollgate/money';
import { z } from 'zod';

const DECIMAL = 'must be a decimal number with at most 6 places';
const NOT_NEGATIVE = 'must not be negative';
/** Describes for the API document what `parseAmount` accepts, as far as a pattern can. */
const UNSIGNED = { pattern: String.raw`^\d{1,13}(\.\d{1,6})?$` };
const SIGNED = { pattern: String.raw`^-?\d{1,13}(\.\d{1,6})?$` };

const isNotNegative = (amount: Micros): boolean => amount >= 0n;

/** Reads a decimal with at most 6 places and parses it to millionths. */
function decimalOf(written: z.ZodType<string | number>) {
  return written
    .transform((input, context): Micros => {
      try {
        return parseAmount(input);
      } catch (error) {
        if (!(error instanceof InvalidAmount)) throw error;
        context.addIssue({ code: 'custom', message: error.message });
        return z.NEVER;
      }
    })
    .meta({ 'x-rules': [DECIMAL, 'amount is out of range'] });
}

function textOrNumber(text: z.GlobalMeta, number: z.GlobalMeta) {
  return z.union([z.string().max(32).meta(text), z.number().meta(number)], DECIMAL);
}

/** Reads an amount of money in a body: decimal text or a JSON number. */
export const signedAmountField = decimalOf(textOrNumber(SIGNED, {})).refine(
  (amount) => amount !== 0n,
  'must not be 0',
);

export const positiveAmountField = decimalOf(
  textOrNumber(UNSIGNED, { exclusiveMinimum: 0 }),
).refine((amount) => amount > 0n, 'must be greater than 0');

/** Reads a decimal of a body that is not negative: a price or a weight. */
export const decimalField = decimalOf(textOrNumber(UNSIGNED, { minimum: 0 })).refine(
  isNotNegative,
  NOT_NEGATIVE,
);

/** Reads such a decimal in a query, where it is text. */
export const amountQuery = decimalOf(z.string().max(32, DECIMAL).meta(UNSIGNED)).refine(
  isNotNegative,
  NOT_NEGATIVE,
);
