import type { SnapshotModel } from '@tollgate/snapshot';
import type { Candidate } from '../../snapshot/routing-index.ts';

/** Names the upstream of an answer where the model allows it; what is no visible ASCII is percent-encoded (a header cannot hold it). */
export function upstreamHeaders(
  { failover }: SnapshotModel,
  { upstream: { name } }: Candidate,
): Record<string, string> {
  if (!failover?.names_upstream) return {};
  const encoded = name.toWellFormed().replace(/[^\x20-\x7e]+/g, encodeURIComponent);
  return { 'x-tollgate-upstream': encoded };
}
