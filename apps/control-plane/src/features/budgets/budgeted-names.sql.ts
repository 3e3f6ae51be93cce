import type { EntityManager } from 'typeorm';
import { z } from 'zod';

const budgetedName = z.object({ name: z.string(), id: z.number(), budgets: z.number() });

/** Returns the names and patterns of models that budgets count, each with the first such budget and the number of them. */
export async function budgetedNames(
  tx: Pick<EntityManager, 'query'>,
): Promise<z.output<typeof budgetedName>[]> {
  const rows: unknown[] = await tx.query(
    `SELECT name, min(id) AS id, count(*)::int AS budgets
     FROM (SELECT id, trim(unnest(string_to_array(models, ','))) AS name FROM budgets WHERE deleted_at IS NULL) named
     WHERE name <> '' GROUP BY name ORDER BY min(id)`,
  );
  return rows.map((row) => budgetedName.parse(row));
}
