import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { embeddedPostgres, embeddedRedis, embeddedRedisCluster, findFreePort, isReachable, postgresUrl, redisClusterUrl, redisUrl, resolveRedis, serviceUser, sharedFolder, startWatchdog, type ManagedProcess, type ProcessFolders } from '@tollgate/tools';
import pg from 'pg';

const PRIMARIES = 3;

export interface Services {
  /** A folder of this suite alone; gone after `stop`. */
  folder: string;
  folders: ProcessFolders;
  /** An empty database. */
  databaseUrl: string;
  /** An empty Redis. */
  redisUrl: string;
  postgres: ManagedProcess;
  /** Of a cluster, the first primary. */
  redis: ManagedProcess;
  /** All servers of Redis: one, or the primaries of a cluster. */
  redisServers: ManagedProcess[];
  /** Another empty database on the same server. */
  createDatabase: () => Promise<string>;
  /** Ends both servers and deletes the folder. */
  stop: () => Promise<void>;
}

export interface ServicesOptions {
  /** False leaves PostgreSQL out. */
  postgres?: boolean;
  /** False leaves Redis out; `cluster` starts a Redis Cluster of three primaries. */
  redis?: boolean | 'cluster';
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
  const store = await (redis === 'cluster' ? unusedCluster(folder, folders, password) : unusedRedis(folder, folders, password));
  const stop = async (): Promise<void> => {
    await Promise.all([database.process, ...store.servers].map((process) => process.stop()));
    await watchdog.release();
  };
  try {
    await Promise.all([postgres && database.process.start(), redis && store.start()]);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    folder,
    folders,
    databaseUrl: postgresUrl({ port: database.port, password }),
    redisUrl: store.url,
    postgres: database.process,
    redis: store.servers[0],
    redisServers: store.servers,
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

interface UnusedStore {
  url: string;
  servers: [ManagedProcess, ...ManagedProcess[]];
  start: () => Promise<void>;
}

async function unusedRedis(folder: string, folders: ProcessFolders, password: string): Promise<UnusedStore> {
  const port = await findFreePort();
  const server = embeddedRedis({ dataFolder: path.join(folder, 'redis'), port, password, binary: await resolveRedis(), folders });
  return { url: redisUrl({ port, password }), servers: [server], start: () => server.start() };
}

async function unusedCluster(folder: string, folders: ProcessFolders, password: string): Promise<UnusedStore> {
  const given = new Set<number>();
  const next = async (): Promise<number> => {
    const port = await findFreePort([], given);
    given.add(port);
    return port;
  };
  const ports = [];
  for (let primary = 0; primary < PRIMARIES; primary += 1) ports.push({ port: await next(), busPort: await next() });
  const { processes, start } = embeddedRedisCluster({ ports, dataFolder: path.join(folder, 'redis'), password, binary: await resolveRedis(), folders });
  const [first, ...others] = processes;
  if (!first) throw new Error('a cluster has primaries');
  return { url: redisClusterUrl({ ports, password }), servers: [first, ...others], start };
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
