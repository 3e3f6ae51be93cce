import {
  snapshotCredentialSchema,
  snapshotDocumentSchema,
  snapshotUpstreamSchema,
} from '@tollgate/snapshot';
import { z } from 'zod';
import { idField, timeField } from '../../platform/http/answer-fields.ts';
import { idFilter, listQuery } from '../../platform/http/list-query.ts';

export const snapshotListSchema = listQuery({ sorts: ['version'], sort: '-version', filters: {} });
export type SnapshotList = z.infer<typeof snapshotListSchema>;

/** `to` is the version to compare with; the default is the newest. */
export const snapshotDiffSchema = z.strictObject({ to: idFilter.optional() });
export type SnapshotDiffQuery = z.infer<typeof snapshotDiffSchema>;

const stored = {
  version: idField,
  checksum: z.string(),
  rollback_of: idField.nullable(),
  pinned: z.boolean().describe('Changes wait while a version is pinned'),
  created_by: idField.nullable(),
  created_at: timeField,
};
export const snapshotResponseSchema = z.object(stored).meta({ id: 'Snapshot' });
export type SnapshotResponse = z.output<typeof snapshotResponseSchema>;

const shownUpstream = snapshotUpstreamSchema
  .omit({ sealed_api_key: true, credentials: true })
  .extend({
    has_api_key: z.boolean(),
    credentials: z.array(snapshotCredentialSchema.omit({ sealed_api_key: true })).optional(),
  });
const shownDocument = snapshotDocumentSchema.extend({ upstreams: z.array(shownUpstream) });
export const snapshotDetailSchema = z
  .object({ ...stored, document: shownDocument })
  .meta({ id: 'SnapshotDetail' });
export type SnapshotDetail = z.output<typeof snapshotDetailSchema>;

const subject = { id: idField, name: z.string() };
const change = z.object({
  path: z.string().describe('Like `prices[0].weight_input`'),
  from: z.unknown().optional().describe('Absent where a field appeared'),
  to: z.unknown().optional().describe('Absent where it went'),
});
const kindDiff = z
  .object({
    added: z.array(z.object(subject)),
    removed: z.array(z.object(subject)),
    changed: z.array(z.object({ ...subject, changes: z.array(change) })),
  })
  .meta({ id: 'SnapshotKindDiff' });
export const snapshotDiffResponseSchema = z.object({
  from: idField,
  to: idField,
  models: kindDiff,
  upstreams: kindDiff,
  routes: kindDiff,
});

export const rollbackResponseSchema = z.object({
  version: idField,
  checksum: z.string(),
  rollback_of: idField,
  pinned: z.literal(true),
});
export const unpinResponseSchema = z.object({
  version: idField,
  checksum: z.string(),
  pinned: z.literal(false),
});
