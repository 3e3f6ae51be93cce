import { Schema1795824000000 } from './migrations/1795824000000-schema.ts';

/** Runs one statement and returns its rows. */
type Ask = (statement: string) => Promise<unknown>;

/**
 * Returns the names of the migrations that the database has, in the order in which they ran; the list is empty where the role cannot read them yet.
 * It changes nothing and throws when a development build made the database.
 */
export async function appliedMigrations(ask: Ask): Promise<string[]> {
  const [row] = (await ask(
    "SELECT coalesce(has_table_privilege(to_regclass('migrations'), 'SELECT'), false) AS found",
  )) as { found: boolean }[];
  if (row?.found !== true) return [];
  const rows = (await ask('SELECT name FROM migrations ORDER BY id')) as { name: string }[];
  const names = rows.map(({ name }) => name);
  refuseDevelopmentBuild('database', names);
  return names;
}

/** Refuses, by an error, the migrations of a build from before release 0.1.0. Every release has the first migration of this list. */
export function refuseDevelopmentBuild(
  what: 'database' | 'backup',
  migrations: readonly string[],
): void {
  if (migrations.length === 0 || migrations.includes(Schema1795824000000.name)) return;
  throw new Error(
    `The ${what} is of a development build, from before release 0.1.0. No release can migrate it, and nothing was changed.\n  Fix: start with an empty database and an empty Redis, whose records have another format too, or keep the build that made this ${what}.`,
  );
}
