import type { z } from 'zod';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Parses the variables of a process by its schema. Throws with one line for each wrong variable; a line never contains the value, which may be a
 * secret. An empty variable counts as missing, because compose files and charts write it so.
 */
export function parseEnvironment<Schema extends z.ZodType>(
  schema: Schema,
  environment: Environment,
): { data: z.output<Schema> } | { problems: readonly string[] } {
  const present = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = schema.safeParse(present);
  if (parsed.success) return { data: parsed.data };
  return {
    problems: parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`),
  };
}
