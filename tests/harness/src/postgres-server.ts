import path from 'node:path';
import {
  copyRunningPostgres,
  embeddedPostgres,
  findFreePort,
  makeStandby,
  postgresUrl,
  type ManagedProcess,
} from '@tollgate/tools';
import pg from 'pg';
import type { Services } from './services.ts';

/** Is one PostgreSQL of several, with what is needed to follow or replace it. */
export interface PostgresServer {
  name: string;
  process: ManagedProcess;
  dataFolder: string;
  databaseUrl: string;
}

/** Returns the server that a suite began with. */
export function firstPostgres({ folder, postgres, databaseUrl }: Services): PostgresServer {
  return {
    name: 'postgres',
    process: postgres,
    dataFolder: path.join(folder, 'postgres'),
    databaseUrl,
  };
}

/** Makes a consistent copy of a running server's data, in a folder beside it; PostgreSQL starts from it as from a backup. */
export async function backUp(server: PostgresServer, to: string): Promise<void> {
  const session = new pg.Client({ connectionString: server.databaseUrl });
  await session.connect();
  try {
    await copyRunningPostgres(session, { from: server.dataFolder, to });
  } finally {
    await session.end();
  }
}

/** Starts a replica that streams from `primary` under its name; it is read-only until `SELECT pg_promote()`. The caller stops it. */
export async function startStandby(
  services: Services,
  primary: PostgresServer,
  name: string,
): Promise<PostgresServer> {
  const dataFolder = path.join(services.folder, name);
  const { port, password } = new URL(primary.databaseUrl);
  await backUp(primary, dataFolder);
  makeStandby(dataFolder, { port: Number(port), password, name });
  return startPostgres(services, name);
}

/** Starts a server over the data in the suite's folder of its name. The caller stops it. */
export async function startPostgres(
  { folder, folders, databaseUrl }: Services,
  name: string,
): Promise<PostgresServer> {
  const dataFolder = path.join(folder, name);
  const { password } = new URL(databaseUrl);
  const port = await findFreePort();
  const process = embeddedPostgres({
    dataFolder,
    port,
    password,
    folders,
    isDisposable: true,
    name,
  });
  await process.start();
  return { name, process, dataFolder, databaseUrl: postgresUrl({ port, password }) };
}
