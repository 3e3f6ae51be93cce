import { InvalidAmount, parseAmount, type Micros } from '@tollgate/money';
import { z } from 'zod';

/** An amount of money in a body: decimal string or JSON number, at most 6 places; parsed to micro-units. */
const amountField = z
  .union([z.string().max(32), z.number()], 'must be a decimal number with at most 6 places')
  .transform((input, context): Micros => {
    try {
      return parseAmount(input);
    } catch (error) {
      if (!(error instanceof InvalidAmount)) throw error;
      context.addIssue({ code: 'custom', message: error.message });
      return z.NEVER;
    }
  });

export const signedAmountField = amountField.refine((amount) => amount !== 0n, 'must not be 0');

export const positiveAmountField = amountField.refine(
  (amount) => amount > 0n,
  'must be greater than 0',
);

/** An amount in a query: 0 or more. */
export const amountQuery = amountField.refine((amount) => amount >= 0n, 'must not be negative');
