import type { RoutingRows, SnapshotDocument, SnapshotUpstream } from '@tollgate/snapshot';

/** Is the id of the credential in the upstream's own row. */
const OWN = 0;

/**
 * Returns an earlier document without the credentials that were deleted since, as a deletion is final. An upstream that has none left is left out, with its routes.
 * One that was itself deleted keeps its credentials: a rollback undoes that.
 */
export function withoutDeletedCredentials(
  document: SnapshotDocument,
  rows: Pick<RoutingRows, 'upstreams'>,
): SnapshotDocument {
  const present = new Map(
    rows.upstreams.map(({ id, credentials }) => [id, new Set(credentials.map((each) => each.id))]),
  );
  const upstreams = document.upstreams.flatMap((upstream) => {
    const known = present.get(upstream.id);
    return (known ? withKnown(upstream, known) : upstream) ?? [];
  });
  const ids = new Set(upstreams.map(({ id }) => id));
  const routes = document.routes.filter((route) => ids.has(route.upstream_id));
  return { ...document, upstreams, routes };
}

function withKnown(
  upstream: SnapshotUpstream,
  known: ReadonlySet<number>,
): SnapshotUpstream | null {
  const { credentials, sealed_api_key: sealed } = upstream;
  const own = known.has(OWN) ? sealed : null;
  if (!credentials) return sealed !== null && own === null ? null : upstream;
  const kept = credentials.filter(({ id }) => known.has(id));
  return kept.length === 0 ? null : { ...upstream, sealed_api_key: own, credentials: kept };
}
