import type { EntityManager } from 'typeorm';
import { z } from 'zod';

type Tx = Pick<EntityManager, 'query'>;

const modelRow = z.object({ id: z.number(), name: z.string(), is_on_shelf: z.boolean() });
const nameRow = z.object({ name: z.string() });

/** Returns the model with this id, or with this name or alias. */
export async function findModel(
  tx: Tx,
  { id, name }: { id?: number | undefined; name?: string | undefined },
): Promise<z.output<typeof modelRow> | undefined> {
  const rows: unknown[] = await tx.query(
    'SELECT id, name, is_on_shelf FROM models WHERE deleted_at IS NULL AND (id = $1 OR name = $2 OR $2 = ANY(aliases)) LIMIT 1',
    [id ?? null, name ?? null],
  );
  return rows[0] === undefined ? undefined : modelRow.parse(rows[0]);
}

/** Returns those of these names and patterns (`*`) that match no name or alias of a model. */
export async function namesOfNoModel(
  tx: Tx,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows: unknown[] = await tx.query(
    `SELECT named.name FROM unnest($1::text[]) AS named(name)
     WHERE NOT EXISTS (SELECT FROM models m, unnest(array_append(m.aliases, m.name)) known WHERE m.deleted_at IS NULL AND known LIKE replace(replace(named.name, '_', '\\_'), '*', '%'))`,
    [names],
  );
  return new Set(rows.map((row) => nameRow.parse(row).name));
}
