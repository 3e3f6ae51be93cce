import { NODE_STATES } from '@tollgate/contracts';
import { z } from 'zod';
import { countField, idField, timeField } from '../../platform/http/answer-fields.ts';

const state = z.enum(NODE_STATES);
const nodeName = { id: idField, name: z.string() };
const workerName = { ...nodeName, worker: z.int().describe('Number of the process on its node') };

const workerResponseSchema = z
  .object({
    worker: z.int(),
    instance: z.uuid().describe('New at each start'),
    state,
    version: countField.describe('Of the snapshot it runs; 0 = none yet'),
    checksum: z.string(),
    applied_at: timeField.nullable(),
    refused: z.string().nullable().describe('Why the newest snapshot was refused'),
    in_flight: countField,
    unacknowledged: countField.describe(
      'Requests in its journal that the control plane has not acknowledged',
    ),
    software: z.string(),
    redis_round_trip_ms: z
      .number()
      .nullable()
      .describe('How long Redis took to answer it; null before the first answer'),
    clock_ahead_ms: z
      .int()
      .nullable()
      .describe("By how much its clock is ahead of Redis'; below 0: behind; null as above"),
    started_at: timeField,
    reported_at: timeField,
  })
  .meta({ id: 'Worker' });

const node = {
  ...nodeName,
  url: z.string().nullable(),
  enabled: z.boolean(),
  stopped: z.boolean(),
  self_registered: z.boolean(),
  last_seen_at: timeField.nullable(),
  created_at: timeField,
  updated_at: timeField,
  state,
  version: countField.nullable().describe('The lowest among its live workers'),
  checksum: z.string().nullable(),
  applied_at: timeField.nullable(),
  in_flight: countField,
  unacknowledged: countField,
  workers: z.array(workerResponseSchema),
};
export const nodeResponseSchema = z.object(node).meta({ id: 'ProxyNode' });
export type NodeResponse = z.output<typeof nodeResponseSchema>;
export const createdNodeSchema = z
  .object({
    ...node,
    credential: z
      .string()
      .nullable()
      .describe('NODE_CREDENTIAL of the node, shown this once; null when the call is a repeat'),
  })
  .meta({ id: 'CreatedProxyNode' });
export type CreatedNode = z.output<typeof createdNodeSchema>;

const syncedNode = z.object({
  ...nodeName,
  outcome: z
    .enum(['applied', 'offline', 'timeout', 'failed'])
    .describe(
      '`applied`: every live worker said, after we asked, that it runs this version or a later one',
    ),
  version: countField
    .nullable()
    .describe('What it runs as far as it said; of several workers the lowest'),
  applied_at: timeField.nullable(),
});
export type SyncedNode = z.output<typeof syncedNode>;
const published = {
  version: idField,
  checksum: z.string(),
  pinned_version: idField
    .nullable()
    .describe('Changes wait until `POST /snapshots/unpin`; null: everything is published'),
};
export const syncResultSchema = z
  .object({ ...published, nodes: z.array(syncedNode) })
  .meta({ id: 'SyncResult' });
export type SyncResult = z.output<typeof syncResultSchema>;

export const fleetStatusSchema = z
  .object({
    version: idField.nullable(),
    checksum: z.string().nullable(),
    pinned_version: idField.nullable(),
    nodes: z.array(nodeResponseSchema),
  })
  .meta({ id: 'FleetStatus' });
export type FleetStatus = z.output<typeof fleetStatusSchema>;

const nodeHealth = z.object({
  ...nodeName,
  state,
  healthy: z.boolean(),
  reasons: z.array(z.string()),
});
export const fleetHealthSchema = z
  .object({
    status: z
      .enum(['ok', 'degraded', 'down'])
      .describe('All, some or none serve what is published'),
    nodes: z.array(nodeHealth),
  })
  .meta({ id: 'FleetHealth' });
export type FleetHealth = z.output<typeof fleetHealthSchema>;

export const nodesSchema = z.object({ nodes: z.array(nodeResponseSchema) });
export const reloadedSchema = z.object({
  version: idField.nullable().describe('What Redis holds'),
  nodes: z.array(z.object(nodeName)),
});
export const publishedSchema = z.object({ ...published, nodes: z.array(z.object(nodeName)) });

const asked = { ...workerName, outcome: z.enum(['answered', 'timeout']) };
const table = z.object({ table: z.string(), entries: countField, limit: countField.nullable() });
export const statsSchema = z
  .object({ nodes: z.array(z.object({ ...asked, tables: z.array(table) })) })
  .meta({ id: 'FleetStats' });
export type FleetStats = z.output<typeof statsSchema>;
export const statsRowsSchema = z
  .object({
    table: z.string().nullable(),
    page: z.int(),
    page_size: z.int(),
    nodes: z.array(
      z.object({
        ...asked,
        total: countField,
        rows: z.array(
          z.object({ key: z.string(), value: z.unknown().describe('Secrets are redacted') }),
        ),
      }),
    ),
  })
  .meta({ id: 'FleetStatsRows' });
export type FleetStatsRows = z.output<typeof statsRowsSchema>;
