import { z } from 'zod';
import { idField, tokensField } from '../../../platform/http/answer-fields.ts';
import { idFilter } from '../../../platform/http/list-query.ts';

export const burnRateQuery = z.strictObject({ user_id: idFilter.optional() });
export type BurnRateQuery = z.output<typeof burnRateQuery>;

const days = z
  .number()
  .nullable()
  .describe('null: nothing is used, or it lasts ten years and more');
const burnRateSchema = z
  .object({
    model_id: idField,
    model: z.string(),
    tokens: tokensField.describe('Left in the subscription'),
    used_last_day: tokensField.describe('Of the last 24 hours, by whole hours'),
    used_last_week: tokensField,
    days_left: days.describe(
      'At the pace of the last 24 hours; null: nothing is used, or it lasts ten years and more',
    ),
    days_left_at_week_pace: days,
  })
  .meta({ id: 'BurnRate' });
export type BurnRate = z.output<typeof burnRateSchema>;
export const burnRatesSchema = z.object({ data: z.array(burnRateSchema) });
