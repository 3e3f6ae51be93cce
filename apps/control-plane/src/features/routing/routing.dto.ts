import { LIMIT_FIELD_SETTINGS } from '@tollgate/snapshot';
import { z } from 'zod';
import { INTEGER_MAX } from '../../platform/database/integer-max.ts';
import { idField, timeField } from '../../platform/http/answer-fields.ts';
import { booleanFilter, idFilter, listQuery } from '../../platform/http/list-query.ts';
import { nameText } from '../../platform/http/text-field.ts';

/** Matches the category Cc as ranges, which every reader of the document understands. */
const CONTROL = String.raw`\u0000-\u001f\u007f-\u009f`;
const PRINTABLE = `^[^${CONTROL}]*[^\\s${CONTROL}][^${CONTROL}]*$`;
const id = z.number().int().min(1).max(INTEGER_MAX);

export const NO_EMBEDDINGS = 'the anthropic protocol has no embeddings';

export const createRouteSchema = z
  .strictObject({
    model_id: id,
    upstream_id: id.meta({ 'x-rules': [NO_EMBEDDINGS] }),
    /** Is the upstream's name of the model; the default is the model's own name. It is printable, because it is written into the upstream's request. */
    upstream_model: nameText(256)
      .regex(new RegExp(PRINTABLE), 'must not hold control characters')
      .meta({ pattern: PRINTABLE })
      .optional(),
    /** Nodes try the lowest priority first. */
    priority: z.number().int().min(-1_000_000).max(1_000_000).optional(),
    /** Is the share of requests within a priority. */
    weight: z.number().int().min(1).max(1_000_000).optional(),
    enabled: z.boolean().optional(),
    /** Is the field for the default output limit; `auto` (the default) chooses it by the model's name. */
    output_limit_field: z.enum(LIMIT_FIELD_SETTINGS).optional(),
    /** Is the context window in tokens, where this route has another one than its model. */
    context_window: z.number().int().min(1).max(100_000_000).nullable().optional(),
  })
  .meta({
    'x-example': {
      model_id: 1,
      upstream_id: 1,
      upstream_model: 'gpt-5-2025-08-07',
      priority: 0,
      weight: 3,
    },
  });
export type CreateRoute = z.infer<typeof createRouteSchema>;

export const updateRouteSchema = createRouteSchema
  .partial()
  .meta({ 'x-example': { priority: 1, enabled: false } });
export type UpdateRoute = z.infer<typeof updateRouteSchema>;

export const routeListSchema = listQuery({
  sorts: ['id', 'model_id', 'upstream_id', 'priority'],
  sort: 'id',
  filters: {
    model_id: idFilter.optional(),
    upstream_id: idFilter.optional(),
    enabled: booleanFilter.optional(),
  },
});
export type RouteList = z.infer<typeof routeListSchema>;

export const routeResponseSchema = z
  .object({
    id: idField,
    model_id: idField,
    upstream_id: idField,
    upstream_model: z.string().describe("The upstream's own name of the model"),
    priority: z.int().describe('Lowest first'),
    weight: z.int().describe('Share within its tier'),
    enabled: z.boolean(),
    output_limit_field: z
      .enum(LIMIT_FIELD_SETTINGS)
      .describe('Where the output limit goes; `auto`: by the name of the model'),
    context_window: z.int().nullable().describe('Tokens; null = as many as the model says'),
    created_at: timeField,
    updated_at: timeField,
  })
  .meta({ id: 'Route' });
export type RouteResponse = z.output<typeof routeResponseSchema>;
