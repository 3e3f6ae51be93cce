import type { EntityManager } from 'typeorm';
import { z } from 'zod';

const allowedName = z.object({ name: z.string(), id: z.number(), keys: z.number() });

/** Returns the names and patterns of models that enabled keys allow, each with the first such key and the number of them, in the order of these ids. */
export async function allowedNames(
  tx: Pick<EntityManager, 'query'>,
): Promise<z.output<typeof allowedName>[]> {
  const rows: unknown[] = await tx.query(
    `SELECT name, min(id) AS id, count(*)::int AS keys
     FROM (SELECT id, unnest(string_to_array(allowed_models, ',')) AS name FROM api_keys WHERE status = 'enabled' AND allowed_models <> '') named
     GROUP BY name ORDER BY min(id)`,
  );
  return rows.map((row) => allowedName.parse(row));
}
