import { limitFields, LIMIT_NAMES } from '@tollgate/contracts';
import { z } from 'zod';
import { timeField } from '../../platform/http/answer-fields.ts';

const ceiling = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

export const ceilingsBody = z
  .strictObject(limitFields(() => ceiling.optional()))
  .refine((body) => LIMIT_NAMES.some((name) => body[name] !== undefined), {
    path: [LIMIT_NAMES[0] ?? ''],
    message: 'name at least one field to change',
  })
  .meta({ minProperties: 1 })
  .meta({ 'x-example': { rpm: 600 } });
export type CeilingsBody = z.output<typeof ceilingsBody>;

/** The refusal of a key's limit begins with this text; the ceiling follows. */
export const ABOVE_CEILING = 'is above the ceiling of the account';

export const limitsInForceSchema = z
  .object(limitFields((_, { says }) => z.int().describe(says)))
  .describe('Limits as they count: the own limits under the ceilings; 0 = no limit');

export const ceilingsSchema = z
  .object({
    ...limitFields((_, { says }) =>
      z.int().describe(`${says} that a key may have at most; 0 = no ceiling`),
    ),
    updated_at: timeField,
  })
  .meta({ id: 'Ceilings' });
export type Ceilings = z.output<typeof ceilingsSchema>;
