import { z } from 'zod';
import { idFilter, listQuery } from '../../platform/http/list-query.ts';

export const snapshotListSchema = listQuery({ sorts: ['version'], sort: '-version', filters: {} });
export type SnapshotList = z.infer<typeof snapshotListSchema>;

/** `to`: the version to compare with; the newest when omitted. */
export const snapshotDiffSchema = z.strictObject({ to: idFilter.optional() });
export type SnapshotDiffQuery = z.infer<typeof snapshotDiffSchema>;
