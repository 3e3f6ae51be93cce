import { CLIENT_PROTOCOLS } from '@tollgate/contracts';
import { z } from 'zod';
import { countField, idField } from '../../platform/http/answer-fields.ts';
import { clientProtocolField } from '../../platform/openapi/named-tables.ts';
import { idFilter } from '../../platform/http/list-query.ts';

const ONE_OF_BOTH = 'either model or model_id, not both';

export const simulationQuery = z
  .strictObject({
    model_id: idFilter.optional(),
    model: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .meta({ description: 'Its name or an alias', 'x-rules': [ONE_OF_BOTH] }),
    protocol: z.enum(CLIENT_PROTOCOLS).default('chat'),
  })
  .refine(({ model, model_id: id }) => (model === undefined) !== (id === undefined), {
    path: ['model'],
    message: ONE_OF_BOTH,
  });
export type SimulationQuery = z.output<typeof simulationQuery>;

const simulatedRoute = z.object({
  route_id: idField,
  upstream_id: idField,
  upstream: z.string(),
  upstream_model: z.string(),
  priority: z.int(),
  weight: z.int(),
  order: z
    .int()
    .describe('Routes of one number are one group; the lowest with a free route is used'),
  is_translated: z.boolean().describe('The upstream speaks another protocol than the caller'),
  excluded_by: z
    .enum(['route_disabled', 'upstream_disabled', 'protocol', 'resting'])
    .nullable()
    .describe('Why it would not be tried; null = it may be'),
  resting_on_workers: countField.describe('Workers that leave its upstream alone after failures'),
  share: z
    .number()
    .min(0)
    .max(1)
    .describe('Of requests without a session, while its upstreams are equally loaded'),
});
export type SimulatedRoute = z.output<typeof simulatedRoute>;

export const routingSimulationSchema = z
  .object({
    model_id: idField,
    model: z.string(),
    protocol: clientProtocolField,
    is_servable: z.boolean(),
    reason: z.string().nullable().describe('Why not'),
    routes: z.array(simulatedRoute).describe('In the order in which they would be tried'),
  })
  .meta({ id: 'RoutingSimulation' });
export type RoutingSimulation = z.output<typeof routingSimulationSchema>;
