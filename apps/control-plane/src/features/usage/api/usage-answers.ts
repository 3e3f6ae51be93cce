import { chargedTokenFields, routeAttemptSchema, tokenFields } from '@tollgate/contracts';
import { z } from 'zod';
import { USAGE_PERIOD_NAMES } from '../../../platform/database/usage-periods.ts';
import {
  amountText,
  countField,
  currencyField,
  idField,
  timeField,
  tokensField,
} from '../../../platform/http/answer-fields.ts';
import { chargedClassField, outcomeField } from '../../../platform/openapi/named-tables.ts';
import { SPEND } from '../spend.sql.ts';
import { TOP_MEASURES } from './usage.dto.ts';
import { priceResponseSchema } from '../../models/models.dto.ts';

const tokens = z.int().nullable().describe('As counted; null while the node has not returned');
const logged = {
  rid: z.uuid().describe('What the caller got as `x-request-id`'),
  request_id: z.uuid().describe('The same as `rid`'),
  started_at: timeField,
  user_id: idField,
  username: z.string().nullable(),
  key_id: idField.nullable(),
  key_name: z.string().nullable(),
  model_id: idField,
  model: z.string().nullable(),
  protocol: z.string().nullable(),
  is_stream: z.boolean().nullable(),
  node: z.string().nullable(),
  upstream_id: idField.nullable(),
  upstream: z.string().nullable(),
  route: z
    .array(routeAttemptSchema)
    .describe(
      'Every upstream that was tried, or, where none of the rest could be, was passed over (`error` is `resting`, `full` or `no_token`)',
    ),
  outcome: outcomeField.nullable(),
  status: z.int().nullable().describe('What the client saw'),
  ...tokenFields(tokens),
  charge: tokensField,
  basis: z.enum(['reported', 'estimated']),
  premiums: z
    .array(z.string())
    .describe('Dearer services it was charged for, by the multipliers of its price version'),
  is_corrected: z.boolean().describe('A first charge was corrected when the node returned'),
  price_version_id: idField.nullable(),
  first_token_ms: z.int().nullable(),
  duration_ms: z.int().nullable(),
};
export const usageLogResponseSchema = z.object(logged).meta({ id: 'UsageLog' });
export type UsageLogResponse = z.output<typeof usageLogResponseSchema>;

/** Describes the part of a charge that one token class makes. */
export const chargeLineSchema = z.object({
  class: chargedClassField,
  unit: z.enum(['token', 'call']),
  count: countField.describe('Tokens, or calls of a tool of the provider'),
  weight: amountText,
  charged: amountText.describe('count x weight, exact'),
});
export const usageReceiptSchema = z
  .object({
    ...logged,
    price: priceResponseSchema.nullable(),
    lines: z.array(chargeLineSchema),
    sum: amountText.nullable().describe('Before the one rounding up'),
    cache_saved: amountText
      .nullable()
      .describe(
        'Charged tokens that the cache of the provider saved, against the same tokens as input; negative where its writes cost more; null where it had no part',
      ),
    tier_above_prompt_tokens: z
      .int()
      .nullable()
      .describe('The tier whose weights the lines have; null = those of the price version itself'),
    explanation: z.string(),
    events: z.array(
      z.object({
        seq: z.int(),
        kind: z.enum(['usage', 'reap']),
        charged_tokens: tokensField,
        booked_at: timeField,
      }),
    ),
  })
  .meta({ id: 'UsageReceipt' });
export type UsageReceipt = z.output<typeof usageReceiptSchema>;

const percentiles = z
  .object({
    p50: z.number().nullable(),
    p90: z.number().nullable(),
    p95: z.number().nullable(),
    p99: z.number().nullable(),
  })
  .meta({ id: 'Percentiles' });
export type Percentiles = z.output<typeof percentiles>;
const group = {
  id: idField.nullable().optional().describe('With `group_by`'),
  name: z.string().nullable().optional().describe('With `group_by`'),
};
const statisticsRowSchema = z
  .object({
    at: timeField.describe('Begin of the minute, hour or day'),
    model_id: group.id,
    model: group.name,
    key_id: group.id,
    key: group.name,
    user_id: group.id,
    user: group.name,
    upstream_id: group.id,
    upstream: group.name,
    requests: countField,
    errors: countField,
    ...chargedTokenFields(countField),
    charge: tokensField,
    duration_ms: percentiles,
    first_token_ms: percentiles,
  })
  .meta({ id: 'UsageStatisticsRow' });
export type StatisticsRow = z.output<typeof statisticsRowSchema>;
export const usageStatisticsSchema = z
  .object({
    from: timeField,
    to: timeField,
    interval: z.enum(USAGE_PERIOD_NAMES),
    group_by: z.enum(['model', 'key', 'user', 'upstream']).nullable(),
    data: z.array(statisticsRowSchema),
  })
  .meta({ id: 'UsageStatistics' });
export type UsageStatistics = z.output<typeof usageStatisticsSchema>;

const topSums = {
  requests: countField,
  errors: countField,
  tokens: countField.describe('Of all classes that are charged'),
  charge: tokensField,
  spend: amountText.describe(SPEND),
};
export const usageTopSchema = z
  .object({
    from: timeField,
    to: timeField,
    interval: z.enum(USAGE_PERIOD_NAMES),
    group_by: z.enum(['user', 'key', 'model']),
    by: z.enum(TOP_MEASURES),
    currency: currencyField,
    data: z
      .array(z.object({ id: idField, name: z.string().nullable(), ...topSums }))
      .describe('The greatest first'),
    other: z
      .object({ groups: countField.describe('How many are not in `data`'), ...topSums })
      .describe('All the rest together'),
    total: z.object({ groups: countField, ...topSums }),
  })
  .meta({ id: 'UsageTop' });
export type UsageTop = z.output<typeof usageTopSchema>;
