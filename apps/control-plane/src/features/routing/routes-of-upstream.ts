import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { modelKinds } from '../models/known-models.ts';

const routedRow = z.object({ model_id: z.number(), upstream_model: z.string() });

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
): Promise<{ upstream_model: string; kind: 'chat' | 'embedding' } | undefined> {
  const rows: unknown[] = await tx.query(
    'SELECT model_id, upstream_model FROM routes WHERE upstream_id = $1 ORDER BY priority, id',
    [upstreamId],
  );
  const routed = rows.map((row) => routedRow.parse(row));
  const kinds = await modelKinds(
    tx,
    routed.map(({ model_id: id }) => id),
  );
  for (const { model_id: id, upstream_model: model } of routed) {
    const found = kinds.get(id);
    if (found !== undefined && (kind === undefined || found === kind))
      return { upstream_model: model, kind: found };
  }
  return undefined;
}
