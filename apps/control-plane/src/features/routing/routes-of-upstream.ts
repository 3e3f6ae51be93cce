import type { EntityManager } from 'typeorm';
import { z } from 'zod';

const routedRow = z.object({ upstream_model: z.string(), kind: z.enum(['chat', 'embedding']) });

export async function hasRoutes(
  tx: Pick<EntityManager, 'query'>,
  upstreamId: number,
): Promise<boolean> {
  const rows: unknown[] = await tx.query('SELECT 1 FROM routes WHERE upstream_id = $1 LIMIT 1', [
    upstreamId,
  ]);
  return rows.length > 0;
}

/** The first model that a route sends to an upstream, of this kind or of any. */
export async function firstRouted(
  tx: Pick<EntityManager, 'query'>,
  upstreamId: number,
  kind: 'chat' | 'embedding' | undefined,
): Promise<z.output<typeof routedRow> | undefined> {
  const rows: unknown[] = await tx.query(
    'SELECT r.upstream_model, m.kind FROM routes r JOIN models m ON m.id = r.model_id WHERE r.upstream_id = $1 AND ($2::text IS NULL OR m.kind = $2) ORDER BY r.priority, r.id LIMIT 1',
    [upstreamId, kind ?? null],
  );
  return rows[0] === undefined ? undefined : routedRow.parse(rows[0]);
}
