import { OWN_CREDENTIAL } from '@tollgate/contracts';
import type { RoutingRows, SnapshotDocument, SnapshotUpstream } from '@tollgate/snapshot';
import type { DeletedCredential } from '../activity/deleted-credentials.sql.ts';

/**
 * Returns an earlier document without the credentials that were deleted since, as a deletion is final. An upstream that has none left is left out, with its routes.
 * One that was itself deleted keeps the credentials that it had then: a rollback undoes that. `deleted` are the credentials whose deletion is on record.
 */
export function withoutDeletedCredentials(
  document: SnapshotDocument,
  rows: Pick<RoutingRows, 'upstreams'>,
  deleted: readonly DeletedCredential[],
): SnapshotDocument {
  const present = new Map(
    rows.upstreams.map(({ id, credentials }) => [id, new Set(credentials.map((each) => each.id))]),
  );
  const gone = new Set(deleted.map((each) => `${each.upstreamId} ${each.id}`));
  const upstreams = document.upstreams.flatMap((upstream) => {
    const known = present.get(upstream.id);
    const isKnown = (id: number): boolean =>
      (known?.has(id) ?? true) && !gone.has(`${upstream.id} ${id}`);
    return withKnown(upstream, isKnown) ?? [];
  });
  const ids = new Set(upstreams.map(({ id }) => id));
  const routes = document.routes.filter((route) => ids.has(route.upstream_id));
  return { ...document, upstreams, routes };
}

function withKnown(
  upstream: SnapshotUpstream,
  isKnown: (id: number) => boolean,
): SnapshotUpstream | null {
  const { credentials, sealed_api_key: sealed } = upstream;
  const own = isKnown(OWN_CREDENTIAL) ? sealed : null;
  if (!credentials) return sealed !== null && own === null ? null : upstream;
  const kept = credentials.filter(({ id }) => isKnown(id));
  return kept.length === 0 ? null : { ...upstream, sealed_api_key: own, credentials: kept };
}
