import { FURTHER_ENDPOINTS, UPSTREAM_PROTOCOLS } from '@tollgate/contracts';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';

const nameRow = z.object({ id: z.number(), name: z.string() });

/** Returns the names of those of these upstreams that exist, in the order of their ids. */
export async function upstreamNames(
  tx: EntityManager,
  ids: readonly number[],
): Promise<{ id: number; name: string }[]> {
  if (ids.length === 0) return [];
  const rows: unknown[] = await tx.query(
    'SELECT id, name FROM upstreams WHERE id = ANY($1) AND deleted_at IS NULL ORDER BY id',
    [ids],
  );
  return rows.map((row) => nameRow.parse(row));
}

const routedUpstream = z.object({
  id: z.number(),
  name: z.string(),
  protocol: z.enum(UPSTREAM_PROTOCOLS),
  base_url: z.string(),
  endpoints: z.array(z.enum(FURTHER_ENDPOINTS)).nullable(),
  enabled: z.boolean(),
});
export type RoutedUpstream = z.output<typeof routedUpstream>;

/** Returns the facts that decide whether routes to these upstreams can be tried, by their ids. */
export async function routedUpstreams(
  tx: Pick<EntityManager, 'query'>,
  ids: readonly number[],
): Promise<ReadonlyMap<number, RoutedUpstream>> {
  const rows: unknown[] = await tx.query(
    'SELECT id, name, protocol, base_url, endpoints, enabled FROM upstreams WHERE id = ANY($1::int[]) AND deleted_at IS NULL',
    [ids],
  );
  return new Map(
    rows.map((row) => routedUpstream.parse(row)).map((upstream) => [upstream.id, upstream]),
  );
}
