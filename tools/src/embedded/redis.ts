import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { ManagedProcess, type ProcessFolders } from '../process/managed-process.ts';
import type { Termination } from '../process/terminate.ts';
import type { RedisBinary } from './redis-binary.ts';
import { redisUserLines } from './redis-users.ts';

const READY_TIMEOUT_MS = 30_000;
const PROBE_TIMEOUT_MS = 1_000;
/** Is the exit status of the checker for what it cannot repair. */
const DAMAGED = 1;
/** SIGTERM flushes the append-only file first. */
const STOP: Termination = { steps: [{ signal: 'SIGTERM', graceMs: 10_000 }], isLast: true };

export interface RedisSettings {
  dataFolder: string;
  port: number;
  password: string;
  binary: RedisBinary;
  /** Is added to the environment of the server. */
  env?: Readonly<Record<string, string>>;
  folders: ProcessFolders;
  /** Is false for tests that never restart it: nothing is written to disk. */
  isPersistent?: boolean;
  /** Names the process; `redis` unless there are several. */
  name?: string;
  /** Is the port of the cluster's own bus; with it the server is a member of a Redis Cluster. */
  busPort?: number;
  /** Is the port of the server whose replica this one is; it has the same password. */
  replicaOf?: number;
  /** A sentinel watches it and writes into its configuration who is whose replica: what is there already stays. */
  isWatched?: boolean;
}

/** Describes a Redis of our own on 127.0.0.1: its append-only file is fsynced every second, and it never evicts. */
export function embeddedRedis({
  dataFolder,
  port,
  password,
  binary,
  env = {},
  folders,
  isPersistent = true,
  name = 'redis',
  busPort,
  replicaOf,
  isWatched = false,
}: RedisSettings): ManagedProcess {
  const configFile = path.join(dataFolder, 'redis.conf');
  return new ManagedProcess(
    {
      name,
      command: binary.server,
      args: [configFile],
      cwd: dataFolder,
      env: { ...process.env, ...binary.env, ...env },
      stop: STOP,
      prepare: async () => {
        mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
        // They are in a file, not in the arguments, which every user of the machine can list.
        if (!isWatched || !existsSync(configFile))
          writeFileSync(
            configFile,
            configuration({ dataFolder, port, password, isPersistent, busPort, replicaOf }),
            { mode: 0o600 },
          );
        repairAppendOnlyFiles(dataFolder, binary);
      },
      isReady: async (pid) => (await readProcessId(port, password)) === pid,
      readyTimeoutMs: READY_TIMEOUT_MS,
    },
    folders,
  );
}

export function redisUrl({
  port,
  password,
  database = 0,
}: {
  port: number;
  password: string;
  database?: number;
}): string {
  return `redis://:${password}@127.0.0.1:${port}/${database}`;
}

function configuration({
  dataFolder,
  port,
  password,
  isPersistent,
  busPort,
  replicaOf,
}: Pick<RedisSettings, 'dataFolder' | 'port' | 'password'> & {
  isPersistent: boolean;
  busPort: number | undefined;
  replicaOf: number | undefined;
}): string {
  return [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    `dir ${JSON.stringify(dataFolder)}`,
    'daemonize no',
    `appendonly ${isPersistent ? 'yes' : 'no'}`,
    'appendfsync everysec',
    // The append-only file is the only copy on disk.
    'save ""',
    'maxmemory-policy noeviction',
    ...(busPort === undefined
      ? []
      : [
          'cluster-enabled yes',
          `cluster-port ${busPort}`,
          'cluster-config-file nodes.conf',
          'cluster-node-timeout 5000',
          'cluster-require-full-coverage no',
        ]),
    ...(replicaOf === undefined ? [] : [`replicaof 127.0.0.1 ${replicaOf}`]),
    `masterauth ${password}`,
    ...redisUserLines(password),
    '',
  ].join('\n');
}

/**
 * An append-only file torn inside a script's MULTI block looks right at the first restart, and a later one executes half the script
 * (docs/design/metering.md#loss-of-redis-data). Cutting the tail before every start keeps scripts atomic; the nodes' journals bring back what is cut.
 * Only the file that was written last can be cut. With damage in an older one Redis would not start: all of them are set aside, in the place of those that
 * were set aside before, and the control plane fills the empty Redis from PostgreSQL (alert `redis_data_lost`).
 */
function repairAppendOnlyFiles(dataFolder: string, binary: RedisBinary): void {
  const files = path.join(dataFolder, 'appendonlydir');
  const manifest = path.join(files, 'appendonly.aof.manifest');
  if (!existsSync(manifest)) return;
  // The server binary is the checker when called by the checker's name. It asks before it cuts.
  const result = spawnSync(binary.server, ['--fix', manifest], {
    argv0: binary.checkerName,
    env: { ...process.env, ...binary.env },
    input: 'y\n',
    encoding: 'utf8',
  });
  // With nothing to repair the checker may exit before it reads "y": the write then fails although the check succeeded.
  const isBroken =
    result.error !== undefined && (result.error as NodeJS.ErrnoException).code !== 'EPIPE';
  if (!isBroken && result.status === DAMAGED) {
    const aside = `${files}.set-aside`;
    rmSync(aside, { recursive: true, force: true });
    renameSync(files, aside);
    console.error(
      `Redis' append-only files are damaged and were set aside as ${aside}; Redis starts empty and is filled from PostgreSQL.`,
    );
    return;
  }
  if (isBroken || result.status !== 0) {
    throw new Error(
      `The append-only file below ${dataFolder} could not be checked: ${result.error?.message ?? ''}${result.stdout}${result.stderr}`,
    );
  }
}

/** Reads `INFO server`, which names the process that answers: an orphan on the same port must not pass for our child. */
async function readProcessId(port: number, password: string): Promise<number | undefined> {
  const reply = await ask(port, `AUTH ${password}\r\nINFO server\r\n`, /process_id:(\d+)\r/);
  if (reply === undefined) return undefined;
  // While the data load, commands answer -LOADING although INFO already works.
  const isLoaded = await ask(
    port,
    `AUTH ${password}\r\nEXISTS tollgate\r\n`,
    /(:\d+|-MOVED|-CLUSTERDOWN)/,
  );
  return isLoaded === undefined ? undefined : Number(reply);
}

/** Sends inline commands and resolves with the first group of `pattern`, or undefined when it does not come. */
export function ask(port: number, commands: string, pattern: RegExp): Promise<string | undefined> {
  return new Promise((resolve) => {
    let received = '';
    const socket = connect({ host: '127.0.0.1', port });
    const finish = (): void => {
      socket.destroy();
      resolve(pattern.exec(received)?.[1]);
    };
    socket.setTimeout(PROBE_TIMEOUT_MS, finish);
    socket.on('connect', () => socket.write(commands));
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1');
      if (pattern.test(received) || received.includes('-LOADING')) finish();
    });
    socket.on('error', finish);
    socket.on('close', finish);
  });
}
