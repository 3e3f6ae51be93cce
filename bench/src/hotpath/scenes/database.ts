import pg from 'pg';
import type { BenchInstallation } from '../installation.ts';

/** Opens a connection to the installation's database for the time of `work`. */
export async function withDatabase<T>(
  { tollgate }: BenchInstallation,
  work: (database: pg.Client) => Promise<T>,
): Promise<T> {
  const database = new pg.Client({ connectionString: tollgate.databaseUrl });
  await database.connect();
  try {
    return await work(database);
  } finally {
    await database.end();
  }
}
