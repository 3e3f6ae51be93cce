import { z } from 'zod';
import { INTEGER_MAX } from '../../platform/database/integer-max.ts';
import { timeField } from '../../platform/http/answer-fields.ts';

/** Requests a minute, an hour and a day. */
export const REQUEST_WINDOWS = ['rpm', 'rph', 'rpd'] as const;
export type RequestLimits = Record<(typeof REQUEST_WINDOWS)[number], number>;

const ceiling = z.number().int().min(0).max(INTEGER_MAX);

export const ceilingsBody = z
  .strictObject({ rpm: ceiling.optional(), rph: ceiling.optional(), rpd: ceiling.optional() })
  .refine((body) => REQUEST_WINDOWS.some((window) => body[window] !== undefined), {
    path: ['rpm'],
    message: 'name at least one field to change',
  })
  .meta({ minProperties: 1 })
  .meta({ 'x-example': { rpm: 600 } });
export type CeilingsBody = z.output<typeof ceilingsBody>;

/** Begins the refusal of a limit of a key; the ceiling follows. */
export const ABOVE_CEILING = 'is above the ceiling of the account';

export const limitsInForceSchema = z
  .object({ rpm: z.int(), rph: z.int(), rpd: z.int() })
  .describe('Requests that are admitted: the own limits under the ceilings; 0 = no limit');

export const ceilingsSchema = z
  .object({
    rpm: z.int().describe('Requests a minute that a key may have at most; 0 = no ceiling'),
    rph: z.int().describe('Requests an hour; 0 = no ceiling'),
    rpd: z.int().describe('Requests a day; 0 = no ceiling'),
    updated_at: timeField,
  })
  .meta({ id: 'Ceilings' });
export type Ceilings = z.output<typeof ceilingsSchema>;
