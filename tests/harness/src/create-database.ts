import { randomBytes } from 'node:crypto';
import { postgresUrl, rolesSql } from '@tollgate/tools';
import pg from 'pg';

/** Creates an empty database with the product's roles on the server at this port. Returns the administrator's address. */
export async function createDatabase(port: number, password: string): Promise<string> {
  const database = `suite_${randomBytes(6).toString('hex')}`;
  const created = postgresUrl({ port, password, database });
  await runIn(postgresUrl({ port, password }), `CREATE DATABASE ${database}`);
  await runIn(created, rolesSql(password));
  return created;
}

async function runIn(databaseUrl: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
