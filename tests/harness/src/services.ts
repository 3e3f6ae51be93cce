import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { embeddedPostgres, embeddedRedis, findFreePort, isReachable, postgresUrl, redisUrl, resolveRedis, serviceUser, sharedFolder, startWatchdog, type ManagedProcess, type ProcessFolders } from '@tollgate/tools';
import pg from 'pg';

export interface Services {
  /** A folder of this suite alone; gone after `stop`. */
  folder: string;
  folders: ProcessFolders;
  /** An empty database. */
  databaseUrl: string;
  /** An empty Redis. */
  redisUrl: string;
  postgres: ManagedProcess;
  redis: ManagedProcess;
  /** Another empty database on the same server. */
  createDatabase: () => Promise<string>;
  /** Ends both servers and deletes the folder. */
  stop: () => Promise<void>;
}

export interface ServicesOptions {
  /** False leaves PostgreSQL out. */
  postgres?: boolean;
  /** False leaves Redis out. */
  redis?: boolean;
}

/**
 * A PostgreSQL and a Redis for one suite, on free ports, in a temporary folder, without fsync. About a second.
 * Call it in `beforeAll` and `stop` in `afterAll`; when the test process dies before that, a watchdog cleans up.
 */
export async function startServices({ postgres = true, redis = true }: ServicesOptions = {}): Promise<Services> {
  const folder = temporaryFolder();
  const folders = { run: path.join(folder, 'run'), logs: path.join(folder, 'logs') };
  const watchdog = startWatchdog(folders.run, folder);
  const password = randomBytes(18).toString('base64url');
  const database = await unusedPostgres(folder, folders, password);
  const store = await unusedRedis(folder, folders, password);
  const stop = async (): Promise<void> => {
    await Promise.all([database.process.stop(), store.process.stop()]);
    await watchdog.release();
  };
  try {
    await Promise.all([postgres && database.process.start(), redis && store.process.start()]);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    folder,
    folders,
    databaseUrl: postgresUrl({ port: database.port, password }),
    redisUrl: redisUrl({ port: store.port, password }),
    postgres: database.process,
    redis: store.process,
    createDatabase: () => createDatabase(database.port, password),
    stop,
  };
}

/** PostgreSQL of a root user runs as another user, who must be able to reach the folder. */
function temporaryFolder(): string {
  const base = isReachable(path.join(tmpdir(), 'x'), serviceUser()) ? tmpdir() : sharedFolder();
  const folder = mkdtempSync(path.join(base, 'tollgate-test-'));
  chmodSync(folder, 0o755);
  return folder;
}

async function unusedPostgres(folder: string, folders: ProcessFolders, password: string): Promise<{ process: ManagedProcess; port: number }> {
  const port = await findFreePort();
  return { port, process: embeddedPostgres({ dataFolder: path.join(folder, 'postgres'), port, password, folders, isDisposable: true }) };
}

async function unusedRedis(folder: string, folders: ProcessFolders, password: string): Promise<{ process: ManagedProcess; port: number }> {
  const port = await findFreePort();
  return { port, process: embeddedRedis({ dataFolder: path.join(folder, 'redis'), port, password, binary: await resolveRedis(), folders }) };
}

async function createDatabase(port: number, password: string): Promise<string> {
  const database = `suite_${randomBytes(6).toString('hex')}`;
  const client = new pg.Client({ connectionString: postgresUrl({ port, password }) });
  await client.connect();
  try {
    await client.query(`CREATE DATABASE ${database}`);
  } finally {
    await client.end();
  }
  return postgresUrl({ port, password, database });
}
