import { OUTCOMES } from '@tollgate/contracts';
import { z } from 'zod';
import { cursorQuery } from '../../../platform/http/cursor.ts';
import { USAGE_PERIOD_NAMES } from '../../../platform/database/usage-periods.ts';
import { booleanFilter, idFilter, momentField } from '../../../platform/http/list-query.ts';
import { isRequestId } from '../ingest/read-event.ts';

const requestId = z.string().refine(isRequestId, 'must be a request id').meta({ format: 'uuid' });
const moment = momentField.transform((text) => new Date(text));

/** `from` is inclusive, `to` is exclusive. `format=csv` returns all matching requests as a file. */
export const usageLogsSchema = cursorQuery({
  /** Is the id of one request, which its caller got as `x-request-id`. */
  rid: requestId.optional(),
  request_id: requestId.optional().describe('The same as `rid`'),
  user_id: idFilter.optional(),
  key_id: idFilter.optional(),
  model_id: idFilter.optional(),
  upstream_id: idFilter.optional(),
  node: z.string().min(1).max(128).optional(),
  outcome: z.enum(OUTCOMES).optional(),
  is_completed: booleanFilter.optional().describe('false: all other outcomes'),
  status: z.coerce.number().int().min(100).max(599).optional(),
  from: moment.optional(),
  to: moment.optional(),
  format: z.enum(['json', 'csv']).default('json'),
});
export type UsageLogs = z.output<typeof usageLogsSchema>;

const GROUPS = ['model', 'key', 'user', 'upstream'] as const;
export type Group = (typeof GROUPS)[number];

/** `format=csv` returns the same rows as a file, with a column for each percentile. */
export const FROM_BEFORE_TO = 'must lie before to';

export const statisticsSchema = z.strictObject({
  from: moment.optional().meta({ 'x-rules': [FROM_BEFORE_TO] }),
  to: moment.optional(),
  interval: z
    .enum(USAGE_PERIOD_NAMES)
    .default('day')
    .describe('Sums by minute are kept for 48 hours, by hour for 90 days, by day without end'),
  group_by: z.enum(GROUPS).optional(),
  user_id: idFilter.optional(),
  key_id: idFilter.optional(),
  model_id: idFilter.optional(),
  upstream_id: idFilter.optional(),
  format: z.enum(['json', 'csv']).default('json'),
});
export type StatisticsQuery = z.output<typeof statisticsSchema>;

/** Lists the measures by which a top list is ordered. */
export const TOP_MEASURES = ['tokens', 'requests', 'errors', 'charge', 'spend'] as const;
export type TopMeasure = (typeof TOP_MEASURES)[number];
const TOP_GROUPS = ['user', 'key', 'model'] as const;
export type TopGroup = (typeof TOP_GROUPS)[number];
const TOP_MAX = 100;

export const topSchema = statisticsSchema
  .pick({ from: true, to: true, interval: true, user_id: true, model_id: true })
  .extend({
    group_by: z.enum(TOP_GROUPS).default('model'),
    by: z.enum(TOP_MEASURES).default('spend').describe('The measure that orders them'),
    limit: z.coerce.number().int().min(1).max(TOP_MAX).default(10),
  });
export type TopQuery = z.output<typeof topSchema>;
