import { z } from 'zod';

/** Many answers share these fields. Answers are described and never parsed, so the fields have no transforms. */
export const idField = z.int().positive();
/** Describes a count or a sum, exact up to 2^53. */
export const countField = z.int();
export const timeField = z.iso.datetime().describe('ISO 8601, UTC');
export const amountText = z
  .string()
  .regex(/^-?\d+(\.\d{1,6})?$/)
  .describe('Decimal text, at most 6 places');
export const currencyField = z.string().length(3).describe('ISO 4217');
export const tokensField = z.int().describe('Charged tokens');
