import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { ManagedProcess, type ProcessFolders } from '../process/managed-process.ts';
import type { Termination } from '../process/terminate.ts';
import { locatePostgres, type PostgresBinaries } from './postgres-binaries.ts';
import { rolesSql } from './postgres-roles.ts';
import { assertNamed, isReachable, serviceUser, type ServiceUser } from './service-user.ts';

/** Is PostgreSQL's own administrator. No process of the product connects as it. */
const ADMINISTRATOR = 'tollgate';
export const DATABASE_NAME = 'tollgate';

const READY_TIMEOUT_MS = 30_000;
/** Is enough for 22 processes of ours at most, each with a small pool. */
const MAX_CONNECTIONS = 200;
/** SIGINT ends sessions and writes a checkpoint; SIGQUIT skips the checkpoint and leaves recovery to the next start. */
const KEEP_DATA: Termination = {
  steps: [
    { signal: 'SIGINT', graceMs: 10_000 },
    { signal: 'SIGQUIT', graceMs: 5_000 },
  ],
  isLast: true,
};
const DROP_DATA: Termination = { steps: [{ signal: 'SIGQUIT', graceMs: 5_000 }], isLast: true };

export interface PostgresSettings {
  /** Is the data folder, created on the first start. The service user must reach it when we are root. */
  dataFolder: string;
  port: number;
  password: string;
  folders: ProcessFolders;
  /** Is true for data that may be lost in a power cut: there is no fsync. It serves tests. */
  isDisposable?: boolean;
  /** Holds further arguments of `initdb`, for a new cluster. */
  initdb?: readonly string[];
  /** Names the process; `postgres` unless there are several. */
  name?: string;
}

/** Runs a PostgreSQL of our own on 127.0.0.1. It creates the cluster and the database `tollgate` when the data folder is new, and the roles where it lacks them. */
export function embeddedPostgres(settings: PostgresSettings): ManagedProcess {
  const { dataFolder, port, folders, isDisposable = false, name = 'postgres' } = settings;
  const user = serviceUser();
  if (!existsSync(completionMark(dataFolder))) assertNamed(user);
  const binaries = locatePostgres(user);
  return new ManagedProcess(
    {
      name,
      command: binaries.postgres,
      args: ['-D', dataFolder, ...options({ port, isDisposable })],
      cwd: '/',
      env: environment(),
      ...user,
      stop: isDisposable ? DROP_DATA : KEEP_DATA,
      prepare: async () => {
        createCluster(settings, binaries, user);
        createRoles(settings, binaries, user);
      },
      isReady: async (pid) => isAcceptingConnections(dataFolder, pid),
      readyTimeoutMs: READY_TIMEOUT_MS,
    },
    folders,
  );
}

/** Returns the administrator's address. */
export function postgresUrl({
  port,
  password,
  database = DATABASE_NAME,
}: {
  port: number;
  password: string;
  database?: string;
}): string {
  return `postgresql://${ADMINISTRATOR}:${password}@127.0.0.1:${port}/${database}`;
}

function options({ port, isDisposable }: { port: number; isDisposable: boolean }): string[] {
  const settings = [
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    // Sockets in /tmp would collide with another PostgreSQL; everyone connects by address.
    'unix_socket_directories=',
    `max_connections=${MAX_CONNECTIONS}`,
    // Commits stay synchronous: without fsync that costs nothing, and tests that kill the server must find what it had committed.
    ...(isDisposable ? ['fsync=off', 'full_page_writes=off'] : []),
  ];
  return settings.flatMap((setting) => ['-c', setting]);
}

/** Nothing of the caller's PG* variables may steer our server; the locale must exist everywhere. */
function environment(): Record<string, string | undefined> {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
}

const completionMark = (dataFolder: string): string =>
  path.join(dataFolder, 'tollgate-initialised');

function createCluster(
  settings: PostgresSettings,
  binaries: PostgresBinaries,
  user: ServiceUser | undefined,
): void {
  const { dataFolder, password } = settings;
  const completed = completionMark(dataFolder);
  if (existsSync(completed)) return checkVersion(dataFolder, binaries, user);
  // Without the mark an earlier attempt died half-way, and nothing has ever been stored here.
  rmSync(dataFolder, { recursive: true, force: true });
  mkdirSync(path.dirname(dataFolder), { recursive: true });
  mkdirSync(dataFolder, { mode: 0o700 });
  if (user) chownSync(dataFolder, user.uid, user.gid);
  if (!isReachable(dataFolder, user))
    throw new Error(`${dataFolder} cannot be reached by the user PostgreSQL runs as.`);
  const passwordFile = `${dataFolder}.password`;
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user) chownSync(passwordFile, user.uid, user.gid);
  try {
    run(binaries.initdb, initdbArguments(settings, passwordFile), user);
  } finally {
    rmSync(passwordFile, { force: true });
  }
  // The package has no psql; a single-user session needs no port and no client.
  run(
    binaries.postgres,
    ['--single', '-D', dataFolder, '-c', 'fsync=off', 'postgres'],
    user,
    `CREATE DATABASE ${DATABASE_NAME}\n`,
  );
  writeFileSync(completed, '');
  chmodSync(completed, 0o644);
}

/**
 * Creates the roles once for each text of the roles, before the server starts. A standby gets them from its primary.
 */
function createRoles(
  { dataFolder, password, isDisposable = false }: PostgresSettings,
  binaries: PostgresBinaries,
  user: ServiceUser | undefined,
): void {
  const sql = rolesSql(password);
  const mark = path.join(dataFolder, 'tollgate-roles');
  const digest = createHash('sha256').update(sql).digest('hex');
  if (existsSync(path.join(dataFolder, 'standby.signal'))) return;
  if (existsSync(mark) && readFileSync(mark, 'utf8') === digest) return;
  // With -j an empty line after a semicolon ends a statement, not each line.
  const session = [
    '--single',
    '-j',
    '-D',
    dataFolder,
    ...(isDisposable ? ['-c', 'fsync=off'] : []),
  ];
  run(binaries.postgres, [...session, DATABASE_NAME], user, sql);
  writeFileSync(mark, digest);
  chmodSync(mark, 0o644);
}

function initdbArguments(
  { dataFolder, initdb = [] }: PostgresSettings,
  passwordFile: string,
): string[] {
  return [
    '-D',
    dataFolder,
    '-U',
    ADMINISTRATOR,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    '--no-sync',
    '--no-instructions',
    ...initdb,
  ];
}

function checkVersion(
  dataFolder: string,
  binaries: PostgresBinaries,
  user: ServiceUser | undefined,
): void {
  const stored = readFileSync(path.join(dataFolder, 'PG_VERSION'), 'utf8').trim();
  const ours = majorOf(binaries.postgres, user);
  if (stored !== ours) {
    throw new Error(
      `The data in ${dataFolder} were written by PostgreSQL ${stored}, this release brings ${ours}. Fix: go back to the earlier release, or move the folder away to start empty.`,
    );
  }
}

const majors = new Map<string, string | undefined>();

/** Returns the major version of a server; each is asked once in a process. */
function majorOf(postgres: string, user: ServiceUser | undefined): string | undefined {
  if (!majors.has(postgres))
    majors.set(postgres, /PostgreSQL\) (\d+)/.exec(run(postgres, ['--version'], user))?.[1]);
  return majors.get(postgres);
}

function run(
  command: string,
  args: readonly string[],
  user: ServiceUser | undefined,
  input = '',
): string {
  const result = spawnSync(command, args, {
    cwd: '/',
    env: environment(),
    input,
    encoding: 'utf8',
    ...user,
  });
  // A single-user session answers a failed statement with a message only.
  const hasFailed =
    result.error || result.status !== 0 || /^.*\b(ERROR|FATAL): /m.test(result.stderr);
  if (hasFailed) {
    throw new Error(
      `${path.basename(command)} failed: ${result.error?.message ?? ''}${result.stdout ?? ''}${result.stderr ?? ''}`,
    );
  }
  return result.stdout;
}

/** Waits like pg_ctl: the server writes its pid and then its status into postmaster.pid. */
function isAcceptingConnections(dataFolder: string, pid: number): boolean {
  try {
    const lines = readFileSync(path.join(dataFolder, 'postmaster.pid'), 'utf8').split('\n');
    return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
  } catch {
    return false;
  }
}
