import type { FleetMessage } from '@tollgate/contracts';
import { z } from 'zod';

const node = z.string().max(128);

/** Is a day: a worker obeys no longer rest. */
const REST_MS_MAX = 86_400_000;
const rowId = z.number().int().positive();

const rest = {
  by: node,
  route_id: rowId,
  rest_ms: z.number().int().positive().max(REST_MS_MAX),
  is_providers: z.boolean(),
  is_rate_limit: z.boolean(),
};

const fleetMessageSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('snapshot'), version: z.number().int().positive() }),
  z.object({ kind: z.literal('reload'), node: node.nullable() }),
  z.object({ kind: z.literal('desired'), node }),
  z.object({ kind: z.literal('key_changed'), key_hash: z.string().length(64) }),
  z.object({ kind: z.literal('subscription_changed'), account_id: rowId, model_id: rowId }),
  z.object({
    kind: z.literal('shard_filled'),
    shard: z.string().max(16),
    epoch: z.string().max(64),
  }),
  z.object({ kind: z.literal('rest'), ...rest }),
  z.object({ kind: z.literal('recovered'), by: node, route_id: rowId }),
  z.object({ kind: z.literal('account_rest'), account_id: rowId, ...rest }),
  z.object({
    kind: z.literal('account_recovered'),
    account_id: rowId,
    by: node,
    route_id: rowId,
  }),
  z.object({
    kind: z.literal('dump'),
    node: node.nullable(),
    request_id: z.uuid(),
    table: z.string().max(64).nullable(),
    page: z.number().int().positive(),
    page_size: z.number().int().positive(),
    account_id: rowId.optional(),
  }),
  z.object({ kind: z.literal('end_request'), rid: z.uuid(), mac: z.string().max(128) }),
]) satisfies z.ZodType<FleetMessage>;

/** Returns undefined for anything else, as the messages of a later release. */
export function parseFleetMessage(value: unknown): FleetMessage | undefined {
  return fleetMessageSchema.safeParse(value).data;
}
