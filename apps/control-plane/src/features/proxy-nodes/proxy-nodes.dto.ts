import { NODE_TABLES } from '@tollgate/contracts';
import { z } from 'zod';
import {
  booleanFilter,
  idFilter,
  listQuery,
  PAGE_SIZE_MAX,
} from '../../platform/http/list-query.ts';

/** Is the node's own name (NODE_NAME), which is part of Redis keys. */
const name = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$/,
    'must be 1 to 120 letters, digits, dots, dashes or underscores',
  );
/** The address is for people and dashboards; the control plane never calls it. */
const url = z
  .url({ protocol: /^https?$/ })
  .max(2048)
  .nullable();

export const createNodeSchema = z
  .strictObject({ name, url: url.optional() })
  .meta({ 'x-example': { name: 'node-3' } });
export type CreateNode = z.infer<typeof createNodeSchema>;

export const updateNodeSchema = z
  .strictObject({ name: name.optional(), url: url.optional() })
  .meta({ 'x-example': { url: 'https://node-3.example.com' } });
export type UpdateNode = z.infer<typeof updateNodeSchema>;

/** A call without a body toggles the node. A body states the wanted state, so that the call may be repeated. */
export const toggleNodeSchema = z
  .strictObject({ enabled: z.boolean() })
  .optional()
  .meta({ 'x-example': { enabled: true } });
export type ToggleNode = z.infer<typeof toggleNodeSchema>;

export const nodeListSchema = listQuery({
  sorts: ['id', 'name', 'last_seen_at', 'created_at'],
  sort: 'id',
  filters: { enabled: booleanFilter.optional() },
});
export type NodeList = z.infer<typeof nodeListSchema>;

/** Selects all nodes, or the named one. */
export const nodeScopeSchema = z.strictObject({ node_id: idFilter.optional() });
export type NodeScope = z.infer<typeof nodeScopeSchema>;

export const dumpSchema = z.strictObject({
  node_id: idFilter.optional(),
  table: z.enum(NODE_TABLES).optional().describe('Without it: the first table that a worker names'),
  page: z.coerce.number().int().min(1).max(1_000_000).default(1),
  page_size: z.coerce.number().int().min(1).max(PAGE_SIZE_MAX).default(50),
});
export type DumpQuery = z.infer<typeof dumpSchema>;
