import { readFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { appliedMigrations } from '../platform/database/applied-migrations.ts';
import { administratorUrl, loginOf, type DatabaseRole } from './database-settings.ts';

/** Is shared by every way to install; in the packed folder it is at the same place. */
const ROLES_FILE = path.join(import.meta.dirname, '../../../../deploy/postgres/roles.sql');

/** Makes the roles that the addresses name, where DATABASE_ADMIN_URL is set; repeated, it changes nothing but passwords. Throws, before it changes anything, where a development build made the database. */
export async function makeRoles(): Promise<void> {
  const administrator = administratorUrl();
  if (administrator === undefined) return;
  const named: DatabaseRole[] = ['owner', 'runtime'];
  if (process.env.DATABASE_READER_URL) named.push('reader');
  const session = new pg.Client({ connectionString: administrator });
  await session.connect();
  try {
    await appliedMigrations(async (statement) => (await session.query(statement)).rows);
    for (const role of named) {
      const { name, password } = loginOf(role);
      await session.query("SELECT set_config('tollgate.' || $1, $2, false)", [role, name]);
      await session.query("SELECT set_config('tollgate.' || $1 || '_password', $2, false)", [
        role,
        password,
      ]);
    }
    await session.query(await readFile(ROLES_FILE, 'utf8'));
  } finally {
    await session.end();
  }
}
