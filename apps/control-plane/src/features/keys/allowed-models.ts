import type { EntityManager } from 'typeorm';
import { z } from 'zod';

/** Whether a key's `allowed_models` names a model: what admission decides by, for pages that show it. Empty and `*` allow every model. */
export function isModelAllowed(allowedModels: string, model: string): boolean {
  return allowedModels === '' || allowedModels.split(',').some((glob) => matches(glob, model));
}

/** `*` is the only wildcard. The parts between stars are found from left to right, the first place each: no text makes this slow. */
function matches(glob: string, text: string): boolean {
  const [first = '', ...rest] = glob.split('*');
  const last = rest.pop();
  if (last === undefined) return glob === text;
  if (text.length < first.length + last.length) return false;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

const allowedName = z.object({ name: z.string(), id: z.number(), keys: z.number() });

/** Names and patterns of models that enabled keys allow: with the first such key and how many there are, in the order of these ids. */
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
