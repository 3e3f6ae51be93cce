import {
  mapFields,
  OUTCOMES,
  routeAttemptSchema,
  TOKEN_FIELDS,
  tokenFields,
} from '@tollgate/contracts';
import { z } from 'zod';
import { toSafeInteger } from '../../../platform/database/columns.ts';
import type { Caller } from '../../../platform/access/caller.ts';
import type { UsageLogResponse } from './usage-answers.ts';

const tokens = z.string().transform(toSafeInteger).nullable();

export const usageLogRow = z.object({
  rid: z.string(),
  seq: z.number(),
  kind: z.enum(['usage', 'reap']),
  user_id: z.number(),
  username: z.string().nullable(),
  key_id: z.number().nullable(),
  key_name: z.string().nullable(),
  model_id: z.number(),
  model: z.string().nullable(),
  price_version_id: z.number().nullable(),
  delta: z.string().transform(toSafeInteger),
  charge: tokens,
  basis: z.enum(['reported', 'estimated']).nullable(),
  premiums: z.array(z.string()).nullable(),
  node: z.string().nullable(),
  protocol: z.string().nullable(),
  is_stream: z.boolean().nullable(),
  upstream_id: z.number().nullable(),
  upstream: z.string().nullable(),
  /** Is true when customers of the model see which upstream answered. */
  names_upstream: z.boolean(),
  attempts: z.array(routeAttemptSchema).nullable(),
  outcome: z.enum(OUTCOMES).nullable(),
  status: z.number().nullable(),
  ...tokenFields(tokens),
  started_at: z.date(),
  first_token_ms: z.number().nullable(),
  duration_ms: z.number().nullable(),
});
export type UsageLogRow = z.output<typeof usageLogRow>;

/** Figures that only the node knew are null while it has not returned (`node_lost`); the charge is then that of the last checkpoint. */
export function toUsageLogResponse(row: UsageLogRow, role: Caller['role']): UsageLogResponse {
  return {
    rid: row.rid,
    request_id: row.rid,
    started_at: row.started_at.toISOString(),
    user_id: row.user_id,
    username: row.username,
    key_id: row.key_id,
    key_name: row.key_name,
    model_id: row.model_id,
    model: row.model,
    protocol: row.protocol,
    is_stream: row.is_stream,
    ...suppliersOf(row, role),
    outcome: row.outcome,
    status: row.status,
    ...mapFields(TOKEN_FIELDS, row, (count) => count),
    charge: row.charge ?? row.delta,
    basis: row.basis ?? 'estimated',
    premiums: row.premiums ?? [],
    is_corrected: row.seq === 1,
    price_version_id: row.price_version_id,
    first_token_ms: row.first_token_ms,
    duration_ms: row.duration_ms,
  };
}

/** Returns the suppliers of a request. A user sees none of them, except the upstream of a model that names its upstream. */
function suppliersOf(
  { node, upstream_id: upstreamId, upstream, attempts, names_upstream: isNamed }: UsageLogRow,
  role: Caller['role'],
): Pick<UsageLogResponse, 'node' | 'upstream_id' | 'upstream' | 'route'> {
  if (role === 'admin') return { node, upstream_id: upstreamId, upstream, route: attempts ?? [] };
  return { node: null, upstream_id: null, upstream: isNamed ? upstream : null, route: [] };
}
