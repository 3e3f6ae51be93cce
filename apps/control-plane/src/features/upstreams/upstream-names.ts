import type { EntityManager } from 'typeorm';
import { z } from 'zod';

const nameRow = z.object({ id: z.number(), name: z.string() });

/** Names of those of these upstreams that exist, in the order of their ids. */
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
