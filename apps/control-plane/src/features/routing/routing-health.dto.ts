import { z } from 'zod';
import { countField, idField, timeField } from '../../platform/http/answer-fields.ts';

const routeTraffic = z.object({
  model_id: idField,
  upstream_id: idField,
  requests: countField,
  errors: countField,
  share: z.number().min(0).max(1).describe("Of the model's requests that reached an upstream"),
  duration_p95_ms: countField.nullable(),
  first_token_p95_ms: countField.nullable(),
});

const failingUpstream = z.object({
  upstream_id: idField,
  node: z.string(),
  worker: z.int(),
  failures_in_row: countField,
  rests_for_ms: countField.describe('0 = it is asked again'),
  accounts_resting: countField.describe(
    'Accounts whose own requests fail there: it is left alone for them only',
  ),
});

export const routingHealthSchema = z
  .object({
    as_of: timeField,
    traffic: z
      .array(routeTraffic)
      .describe('Of the last 24 hours, by model and the upstream that answered last'),
    failing: z
      .array(failingUpstream)
      .describe('Upstreams that failed their last requests, or rest for some accounts, by worker'),
  })
  .meta({ id: 'RoutingHealth' });
export type RoutingHealth = z.output<typeof routingHealthSchema>;
