import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { embeddedPostgres, embeddedRedis, embeddedRedisCluster, embeddedRedisSentinel, findFreePort, isReachable, postgresUrl, redisClusterUrl, redisSentinelUrl, redisUrl, resolveRedis, serviceUser, sharedFolder, startWatchdog, type ManagedProcess, type ProcessFolders } from '@tollgate/tools';
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
  /** Of several, the first primary. */
  redis: ManagedProcess;
  /** All servers of Redis: one, the primaries of a cluster, or a primary, its replica and their sentinel. */
  redisServers: ManagedProcess[];
  /** Another empty database on the same server. */
  createDatabase: () => Promise<string>;
  /** Ends both servers and deletes the folder. */
  stop: () => Promise<void>;
}

export interface ServicesOptions {
  /** False leaves PostgreSQL out. */
  postgres?: boolean;
  /** False leaves Redis out; `cluster` starts a Redis Cluster of three primaries, `sentinel` a primary with a replica that a sentinel promotes. */
  redis?: boolean | 'cluster' | 'sentinel';
  /** Added to the environment of a single Redis. */
  redisEnv?: Readonly<Record<string, string>>;
}

/**
 * A PostgreSQL and a Redis for one suite, on free ports, in a temporary folder, without fsync. About a second.
 * Call it in `beforeAll` and `stop` in `afterAll`; when the test process dies before that, a watchdog cleans up.
 */
export async function startServices({ postgres = true, redis = true, redisEnv = {} }: ServicesOptions = {}): Promise<Services> {
  const folder = temporaryFolder();
  const folders = { run: path.join(folder, 'run'), logs: path.join(folder, 'logs') };
  const watchdog = startWatchdog(folders.run, folder);
  const password = randomBytes(18).toString('base64url');
  const database = await unusedPostgres(folder, folders, password);
  const store = await UNUSED_STORES[redis === 'cluster' || redis === 'sentinel' ? redis : 'single'](folder, folders, password, redisEnv);
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

async function unusedRedis(folder: string, folders: ProcessFolders, password: string, env: Readonly<Record<string, string>>): Promise<UnusedStore> {
  const port = await findFreePort();
  const binary = await resolveRedis();
  const server = embeddedRedis({ dataFolder: path.join(folder, 'redis'), port, password, binary: { ...binary, env: { ...binary.env, ...env } }, folders });
  return { url: redisUrl({ port, password }), servers: [server], start: () => server.start() };
}

async function unusedCluster(folder: string, folders: ProcessFolders, password: string): Promise<UnusedStore> {
  const free = await freePorts(2 * PRIMARIES);
  const ports = free.slice(0, PRIMARIES).map((port, index) => ({ port, busPort: free[PRIMARIES + index] ?? 0 }));
  const { processes, start } = embeddedRedisCluster({ ports, dataFolder: path.join(folder, 'redis'), password, binary: await resolveRedis(), folders });
  return { url: redisClusterUrl({ ports, password }), servers: withFirst(processes), start };
}

async function unusedSentinel(folder: string, folders: ProcessFolders, password: string): Promise<UnusedStore> {
  const [primary = 0, replica = 0, sentinel = 0] = await freePorts(3);
  const ports = { primary, replica, sentinel };
  const { processes, start } = embeddedRedisSentinel({ ports, dataFolder: path.join(folder, 'redis'), password, binary: await resolveRedis(), folders });
  return { url: redisSentinelUrl({ ports, password }), servers: withFirst(processes), start };
}

const UNUSED_STORES = { single: unusedRedis, cluster: unusedCluster, sentinel: unusedSentinel };

async function freePorts(count: number): Promise<number[]> {
  const given = new Set<number>();
  while (given.size < count) given.add(await findFreePort([], given));
  return [...given];
}

function withFirst([first, ...others]: ManagedProcess[]): [ManagedProcess, ...ManagedProcess[]] {
  if (!first) throw new Error('there is at least one server');
  return [first, ...others];
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
