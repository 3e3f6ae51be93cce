import { LIMIT_FIELD_SETTINGS } from '@tollgate/snapshot';
import { z } from 'zod';
import { idField, timeField } from '../../platform/http/answer-fields.ts';
import { booleanFilter, idFilter, listQuery } from '../../platform/http/list-query.ts';

const INTEGER_MAX = 2_147_483_647;
const id = z.number().int().min(1).max(INTEGER_MAX);

export const createRouteSchema = z.strictObject({
  model_id: id,
  upstream_id: id,
  /** The upstream's name of the model; the model's own name when omitted. Printable, since it is written into the upstream's request. */
  upstream_model: z
    .string()
    .trim()
    .min(1)
    .max(256)
    .regex(/^\P{Cc}+$/u, 'must not hold control characters')
    .optional(),
  /** Lowest first. */
  priority: z.number().int().min(-1_000_000).max(1_000_000).optional(),
  /** Share within its tier. */
  weight: z.number().int().min(1).max(1_000_000).optional(),
  enabled: z.boolean().optional(),
  /** Where the default output limit goes; `auto` (the default): by the name of the model. */
  output_limit_field: z.enum(LIMIT_FIELD_SETTINGS).optional(),
  /** Tokens, where this route takes another number than its model says. */
  context_window: z.number().int().min(1).max(100_000_000).nullable().optional(),
});
export type CreateRoute = z.infer<typeof createRouteSchema>;

export const updateRouteSchema = createRouteSchema.partial();
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
