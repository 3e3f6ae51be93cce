import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import {
  debianFolder,
  downloadDebianPackages,
  findFreePort,
  libraryFolders,
  ManagedProcess,
  serviceUser,
} from '@tollgate/tools';
import type { Services } from './services.ts';

const PACKAGES = {
  name: 'pgbouncer',
  wanted: ['pgbouncer'],
  known: ['pgbouncer', 'libevent-2.1-7'],
};
const READY_TIMEOUT_MS = 10_000;

export interface PgBouncer {
  process: ManagedProcess;
  databaseUrl: string;
}

/** Starts a PgBouncer before the suite's PostgreSQL, as docs/operations.md sets it up. It comes from the distribution's package. The caller stops it. */
export async function startPgBouncer(
  { folder, folders, databaseUrl }: Services,
  { poolMode, poolSize = 20 }: { poolMode: 'session' | 'transaction'; poolSize?: number },
): Promise<PgBouncer> {
  const { command, libraries } = await program();
  const to = new URL(databaseUrl);
  const port = await findFreePort();
  const own = path.join(folder, `pgbouncer-${port}`);
  mkdirSync(own);
  const users = path.join(own, 'users.txt');
  writeFileSync(users, `"${to.username}" "${to.password}"\n`, { mode: 0o644 });
  const file = path.join(own, 'pgbouncer.ini');
  const settings = settingsOf({ to, port, users, poolMode, poolSize });
  writeFileSync(file, `${settings.join('\n')}\n`);
  const bouncer = new ManagedProcess(
    {
      name: `pgbouncer-${port}`,
      command,
      args: [file],
      env: { PATH: process.env.PATH, LD_LIBRARY_PATH: libraries.join(':') },
      stop: { steps: [{ signal: 'SIGTERM', graceMs: 2_000 }], isLast: true },
      isReady: () => accepts(port),
      readyTimeoutMs: READY_TIMEOUT_MS,
    },
    folders,
  );
  await bouncer.start();
  to.port = String(port);
  return { process: bouncer, databaseUrl: to.href };
}

function settingsOf(of: {
  to: URL;
  port: number;
  users: string;
  poolMode: string;
  poolSize: number;
}): string[] {
  return [
    '[databases]',
    `* = host=127.0.0.1 port=${of.to.port}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${of.port}`,
    'unix_socket_dir =',
    'auth_type = scram-sha-256',
    `auth_file = ${of.users}`,
    `pool_mode = ${of.poolMode}`,
    `default_pool_size = ${of.poolSize}`,
    'max_client_conn = 500',
    'ignore_startup_parameters = extra_float_digits,options,statement_timeout,idle_in_transaction_session_timeout',
    // PgBouncer refuses to serve as root, and changes to this user.
    ...(serviceUser() ? ['user = postgres'] : []),
  ];
}

async function program(): Promise<{ command: string; libraries: string[] }> {
  const root = debianFolder(PACKAGES);
  const command = path.join(root, 'usr/sbin/pgbouncer');
  if (!existsSync(command)) {
    const problem = await downloadDebianPackages(PACKAGES);
    if (problem !== undefined) throw new Error(`PgBouncer could not be downloaded: ${problem}`);
  }
  return { command, libraries: libraryFolders(root) };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
