import { get } from 'node:http';
import path from 'node:path';
import { appEntry, STATE_FOLDER, type AppName } from '../checkout.ts';
import { ManagedProcess, type ProcessFolders } from '../process/managed-process.ts';
import type { DatabaseUrls } from '../embedded/postgres-roles.ts';
import type { RedisUrls } from '../embedded/redis-users.ts';
import type { Termination } from '../process/terminate.ts';
import { nodeCredential } from './node-standing.ts';
import type { Secrets } from './secrets.ts';

/** Compiled code is kept between starts: a third less to do for the control plane. */
const COMPILE_CACHE = path.join(STATE_FOLDER, 'compile-cache');
const READY_TIMEOUT_MS = 60_000;
const PROBE_TIMEOUT_MS = 2_000;
/** Leaves time for streams to finish and for journals to be acknowledged. */
const STOP: Termination = { steps: [{ signal: 'SIGTERM', graceMs: 12_000 }] };

export interface AppSettings {
  /** Names the pid and log file, such as `node-1`. */
  name: string;
  app: AppName;
  port: number;
  env: Readonly<Record<string, string | undefined>>;
  folders: ProcessFolders;
  /** Holds options for Node itself, such as `--watch`. */
  nodeOptions?: readonly string[];
  /** Is the root of the checkout whose build runs; this one unless given. */
  checkout?: string | undefined;
  /** `/readyz` waits until it serves; `/healthz` only until it lives. */
  readyPath?: '/readyz' | '/healthz';
  /** Decides in place of `readyPath` whether the process is ready. */
  isReady?: () => Promise<boolean>;
}

/** Makes one of our apps, from its build, ready once its own readiness check says so. */
export function appProcess({
  name,
  app,
  port,
  env,
  folders,
  nodeOptions = [],
  checkout,
  readyPath = '/readyz',
  isReady = () => answers(`http://127.0.0.1:${port}${readyPath}`),
}: AppSettings): ManagedProcess {
  return new ManagedProcess(
    {
      name,
      command: process.execPath,
      args: [...nodeOptions, appEntry(app, checkout)],
      cwd: '/',
      env: { NODE_COMPILE_CACHE: COMPILE_CACHE, HOST: '127.0.0.1', ...env, PORT: String(port) },
      stop: STOP,
      isReady,
      readyTimeoutMs: READY_TIMEOUT_MS,
    },
    folders,
  );
}

/** Asks by bare node:http, as this runs many times a second while everything else is busy starting. */
function answers(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = get(url, { agent: false, timeout: PROBE_TIMEOUT_MS }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    probe.on('timeout', () => probe.destroy());
    probe.on('error', () => resolve(false));
  });
}

export interface Backends {
  databaseUrls: DatabaseUrls;
  redisUrls: RedisUrls;
  secrets: Secrets;
  /** Holds the environment that all apps get first, so that what follows wins. */
  base: Readonly<Record<string, string | undefined>>;
}

/** Lists the private ranges in which the demo upstream is. */
export const LOOPBACK_RANGES = '127.0.0.0/8,::1/128';

/** The front door connects from an address of its own, so that the apps believe it alone. macOS has one loopback address only. */
export const FRONT_DOOR_ADDRESS = process.platform === 'linux' ? '127.0.0.2' : '127.0.0.1';

/** A process that serves traffic has no credential of the roles that may do more. */
const WITHOUT_OTHER_ROLES = {
  DATABASE_ADMIN_URL: undefined,
  DATABASE_OWNER_URL: undefined,
  DATABASE_READER_URL: undefined,
};

export function controlPlaneEnvironment(
  { databaseUrls, redisUrls, secrets, base }: Backends,
  admin: { username: string; password: string },
): Record<string, string | undefined> {
  return {
    ...base,
    DATABASE_URL: databaseUrls.runtime,
    ...WITHOUT_OTHER_ROLES,
    REDIS_URL: redisUrls.controlPlane,
    REDIS_QUEUE_URL: redisUrls.queue,
    JWT_SECRET: secrets.jwt,
    ENCRYPTION_KEY: secrets.encryption,
    FLEET_CREDENTIAL: secrets.fleet,
    BOOTSTRAP_ADMIN_USERNAME: admin.username,
    BOOTSTRAP_ADMIN_PASSWORD: admin.password,
  };
}

export interface NodeSettings {
  name: string;
  worker: number;
  /** Belongs to this process alone: journals and the last good snapshot. */
  dataFolder: string;
  port: number;
  controlPlaneUrl: string;
}

export function nodeEnvironment(
  { redisUrls, secrets, base }: Backends,
  { name, worker, dataFolder, port, controlPlaneUrl }: NodeSettings,
): Record<string, string | undefined> {
  return {
    ...base,
    // Nodes never see PostgreSQL, not even its address.
    DATABASE_URL: undefined,
    ...WITHOUT_OTHER_ROLES,
    REDIS_URL: redisUrls.node,
    REDIS_QUEUE_URL: redisUrls.queue,
    ENCRYPTION_KEY: secrets.encryption,
    NODE_CREDENTIAL: nodeCredential(dataFolder) ?? secrets.fleet,
    NODE_NAME: name,
    NODE_WORKER: String(worker),
    DATA_DIR: dataFolder,
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    CONTROL_PLANE_URL: controlPlaneUrl,
  };
}
