import { InvalidAmount, parseAmount, type Micros } from '@tollgate/money';
import { z } from 'zod';

/** A non-negative decimal with at most 6 places, from a JSON string or number, as millionths: money and weights alike. */
export const decimal = z.union([z.string(), z.number()]).transform((input, context): Micros => {
  try {
    const value = parseAmount(input);
    if (value >= 0n) return value;
    context.addIssue('must not be negative');
  } catch (error) {
    if (!(error instanceof InvalidAmount)) throw error;
    context.addIssue(error.message);
  }
  return z.NEVER;
});
