import { randomBytes } from 'node:crypto';
import path from 'node:path';
import {
  databaseUrlsOf,
  embeddedPostgres,
  embeddedRedis,
  embeddedRedisCluster,
  embeddedRedisSentinel,
  findFreePort,
  postgresUrl,
  redisClusterUrl,
  redisSentinelUrl,
  redisUrl,
  redisUrlsOf,
  resolveRedis,
  startWatchdog,
  type RoleUrls,
  type ManagedProcess,
  type ProcessFolders,
  type RedisUrls,
} from '@tollgate/tools';
import { createDatabase } from './create-database.ts';
import {
  copyPrepared,
  preparedKey,
  preparedPostgres,
  type PreparedPostgres,
} from './prepared-postgres.ts';
import { temporaryFolder } from './temporary-folder.ts';

const PRIMARIES = 3;
/** The binary is looked for once a worker: each look starts a process. */
let foundRedis: ReturnType<typeof resolveRedis> | undefined;
const redisBinary = (): ReturnType<typeof resolveRedis> => (foundRedis ??= resolveRedis());

/** Names kinds of Redis: `cluster` is three primaries of a Redis Cluster; `replicated-cluster` has a replica for each, `redis-4` to `redis-6`; `sentinel` is a primary with a replica that a sentinel promotes. */
export type RedisKind = 'single' | 'cluster' | 'replicated-cluster' | 'sentinel';

export interface Services {
  /** Is a folder of this suite alone; it is gone after `stop`. */
  folder: string;
  folders: ProcessFolders;
  /** Is the address of an empty database, as PostgreSQL's administrator has it: tests look at it and tamper with it. */
  databaseUrl: string;
  /** Is the same database as the product's roles have it. */
  databaseUrls: RoleUrls;
  /** Is an empty Redis. */
  redisUrl: string;
  /** Is the same Redis as the product's users have it. */
  redisUrls: RedisUrls;
  postgres: ManagedProcess;
  /** Controls all servers of Redis as one. */
  redis: Pick<ManagedProcess, 'start' | 'stop' | 'kill' | 'isRunning'>;
  /** Lists all servers of Redis: one, the primaries of a cluster and then their replicas, or a primary, its replica and their sentinel. */
  redisServers: ManagedProcess[];
  redisKind: RedisKind;
  /** Holds the ports on 127.0.0.1, of PostgreSQL and of each server of Redis, by process name. */
  ports: ReadonlyMap<string, number>;
  /** Makes another empty database on the same server, with the same roles. Answers the administrator's address. */
  createDatabase: () => Promise<string>;
  /** Returns a database of this server as the product's roles have it. */
  urlsOf: (databaseUrl: string) => RoleUrls;
  /** Ends both servers and deletes the folder. */
  stop: () => Promise<void>;
}

export interface ServicesOptions {
  /** Is false to omit PostgreSQL; a prepared database is copied; true means a copy of an empty one. */
  postgres?: boolean | PreparedPostgres;
  /** Is false to omit Redis; true means what TOLLGATE_TEST_REDIS names, else `single`. */
  redis?: boolean | RedisKind;
  /** Is added to the environment of each server of Redis that holds data. */
  redisEnv?: Readonly<Record<string, string>>;
}

/** Starts a PostgreSQL and a Redis for one suite, on free ports, in a temporary folder, without fsync. It takes about a second. Suites call it in `beforeAll` and `stop` in `afterAll`; when the test process dies before that, a watchdog cleans up. */
export async function startServices(options: ServicesOptions = {}): Promise<Services> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await startOnce(options);
    } catch (error) {
      // Another process took a port between the choice of it and the start of its server.
      const isTaken = error instanceof Error && /address already in use/i.test(error.message);
      if (!isTaken || tries === STARTS_MAX) throw error;
    }
  }
}

const STARTS_MAX = 3;

async function startOnce({
  postgres = true,
  redis = true,
  redisEnv = {},
}: ServicesOptions = {}): Promise<Services> {
  const folder = temporaryFolder();
  const folders = { run: path.join(folder, 'run'), logs: path.join(folder, 'logs') };
  const watchdog = startWatchdog(folders.run, folder);
  const prepared = postgres === true ? await emptyPostgres() : postgres || undefined;
  const password = prepared?.password ?? randomBytes(18).toString('base64url');
  const database = await unusedPostgres(folder, folders, password);
  const redisKind = typeof redis === 'string' ? redis : usualKind();
  const store = await UNUSED_STORES[redisKind](folder, folders, password, redisEnv);
  const stop = async (): Promise<void> => {
    await Promise.all([database.process, ...store.servers].map((process) => process.stop()));
    await watchdog.release();
  };
  try {
    if (prepared) copyPrepared(prepared, database.dataFolder);
    await Promise.all([postgres && database.process.start(), redis && store.start()]);
  } catch (error) {
    await stop();
    throw error;
  }
  const databaseUrl = postgresUrl({ port: database.port, password });
  return {
    folder,
    folders,
    databaseUrl,
    databaseUrls: databaseUrlsOf(databaseUrl, password),
    urlsOf: (url) => databaseUrlsOf(url, password),
    redisUrl: store.url,
    redisUrls: redisUrlsOf(store.url, password),
    postgres: database.process,
    redis: asOne(store.servers),
    redisServers: store.servers,
    redisKind,
    ports: new Map([
      [database.process.spec.name, database.port],
      ...store.servers.map(({ spec: { name } }, index) => [name, store.ports[index] ?? 0] as const),
    ]),
    createDatabase: () => createDatabase(database.port, password),
    stop,
  };
}

/** `TOLLGATE_TEST_REDIS=cluster` runs any suite against a real Redis Cluster (`npm run test:cluster`). */
function usualKind(): RedisKind {
  const kind = process.env.TOLLGATE_TEST_REDIS ?? 'single';
  if (kind !== 'single' && kind !== 'cluster' && kind !== 'sentinel')
    throw new Error(`TOLLGATE_TEST_REDIS is single, cluster or sentinel, not ${kind}`);
  return kind;
}

/** The empty database is made once for all suites, as `initdb` costs more than a copy. */
const emptyPostgres = (): Promise<PreparedPostgres> =>
  preparedPostgres(preparedKey([]), () => Promise.resolve());

/** PostgreSQL of a root user runs as another user, who must be able to reach the folder. */
async function unusedPostgres(
  folder: string,
  folders: ProcessFolders,
  password: string,
): Promise<{ process: ManagedProcess; port: number; dataFolder: string }> {
  const port = await findFreePort();
  const dataFolder = path.join(folder, 'postgres');
  return {
    port,
    dataFolder,
    process: embeddedPostgres({
      dataFolder,
      port,
      password,
      folders,
      isDisposable: true,
    }),
  };
}

interface UnusedStore {
  url: string;
  servers: [ManagedProcess, ...ManagedProcess[]];
  /** Lists the port of each server, in their order. */
  ports: number[];
  start: () => Promise<void>;
}

async function unusedRedis(
  folder: string,
  folders: ProcessFolders,
  password: string,
  env: Readonly<Record<string, string>>,
): Promise<UnusedStore> {
  const port = await findFreePort();
  const server = embeddedRedis({
    dataFolder: path.join(folder, 'redis'),
    port,
    password,
    binary: await redisBinary(),
    env,
    folders,
  });
  return {
    url: redisUrl({ port, password }),
    servers: [server],
    ports: [port],
    start: () => server.start(),
  };
}

const unusedCluster = (...settings: Parameters<typeof unusedRedis>) =>
  clusterOf(PRIMARIES, ...settings);
const unusedReplicatedCluster = (...settings: Parameters<typeof unusedRedis>) =>
  clusterOf(2 * PRIMARIES, ...settings);

async function clusterOf(
  servers: number,
  folder: string,
  folders: ProcessFolders,
  password: string,
  env: Readonly<Record<string, string>>,
): Promise<UnusedStore> {
  const free = await freePorts(2 * servers);
  const all = free
    .slice(0, servers)
    .map((port, index) => ({ port, busPort: free[servers + index] ?? 0 }));
  const ports = all.slice(0, PRIMARIES);
  const { processes, start } = embeddedRedisCluster({
    ports,
    replicaPorts: all.slice(PRIMARIES),
    dataFolder: path.join(folder, 'redis'),
    password,
    binary: await redisBinary(),
    env,
    folders,
  });
  return {
    url: redisClusterUrl({ ports, password }),
    servers: withFirst(processes),
    ports: all.map(({ port }) => port),
    start,
  };
}

async function unusedSentinel(
  folder: string,
  folders: ProcessFolders,
  password: string,
  env: Readonly<Record<string, string>>,
): Promise<UnusedStore> {
  const [primary = 0, replica = 0, sentinel = 0] = await freePorts(3);
  const ports = { primary, replica, sentinel };
  const { processes, start } = embeddedRedisSentinel({
    ports,
    dataFolder: path.join(folder, 'redis'),
    password,
    binary: await redisBinary(),
    env,
    folders,
  });
  return {
    url: redisSentinelUrl({ ports, password }),
    servers: withFirst(processes),
    ports: [primary, replica, sentinel],
    start,
  };
}

const UNUSED_STORES = {
  single: unusedRedis,
  cluster: unusedCluster,
  'replicated-cluster': unusedReplicatedCluster,
  sentinel: unusedSentinel,
};

function asOne(servers: readonly ManagedProcess[]): Services['redis'] {
  const all = async (act: (server: ManagedProcess) => Promise<void>): Promise<void> =>
    void (await Promise.all(servers.map(act)));
  return {
    start: () => all((server) => server.start()),
    stop: () => all((server) => server.stop()),
    kill: (signal) => all((server) => server.kill(signal)),
    get isRunning() {
      return servers.every(({ isRunning }) => isRunning);
    },
  };
}

async function freePorts(count: number): Promise<number[]> {
  const given = new Set<number>();
  while (given.size < count) given.add(await findFreePort([], given));
  return [...given];
}

function withFirst([first, ...others]: ManagedProcess[]): [ManagedProcess, ...ManagedProcess[]] {
  if (!first) throw new Error('there is at least one server');
  return [first, ...others];
}
