import {
  AdminClient,
  appEntry,
  drawSecrets,
  type AppName,
  type Backends,
  type ManagedProcess,
  type Secrets,
} from '@tollgate/tools';
import { builtSchema } from './built-schema.ts';
import { startServices, type Services } from './services.ts';
import type { TollgateOptions } from './tollgate-options.ts';
import { ADMIN_USERNAME, baseEnvironment, layOut, type Fleet } from './tollgate-layout.ts';

/** Is a whole Tollgate of real processes, with the handles to use, watch and break it. URLs have no trailing slash. */
export interface Tollgate {
  adminUrl: string;
  /** Holds one per replica of the control plane; `adminUrl` is the first. */
  adminUrls: string[];
  /** Holds one per process: with `workers` > 1, a node's workers follow each other. */
  nodeUrls: string[];
  upstreamUrl: string;
  /** Is undefined unless asked for. */
  frontDoorUrl: string | undefined;
  admin: AdminClient;
  adminCredentials: { username: string; password: string };
  /** Is the administrator's; `services.databaseUrls` has those of the product's roles. */
  databaseUrl: string;
  redisUrl: string;
  shards: number;
  secrets: Secrets;
  services: Services;
  /** Lists names for `kill`, `restart` and `logs`. */
  processNames: string[];
  /** Sends a signal; waits for the end unless it is SIGSTOP or SIGCONT. Nothing restarts by itself. */
  kill: (name: string, signal?: NodeJS.Signals) => Promise<void>;
  /** Starts a killed process on its old port and waits until it is ready; one that runs is stopped first. A change stays. */
  restart: (name: string, change?: Change) => Promise<void>;
  isRunning: (name: string) => boolean;
  /** Returns the id of the running process; undefined while it is down. */
  pidOf: (name: string) => number | undefined;
  logs: (name: string) => string;
  stop: () => Promise<void>;
}

interface Change {
  env?: Readonly<Record<string, string | undefined>>;
  /** Is the root of the checkout whose build runs from now on. */
  checkout?: string;
}

/** It needs a build (`npm test` makes it) and takes a few seconds; suites call it in `beforeAll` with a timeout to match, and `stop` in `afterAll`. */
export async function startTollgate(options: TollgateOptions = {}): Promise<Tollgate> {
  const services = await startServices({
    // A build of another checkout brings a schema of its own.
    postgres: options.checkout === undefined ? await builtSchema() : true,
    redis: options.redis ?? true,
    ...(options.redisEnv && { redisEnv: options.redisEnv }),
  });
  const secrets = drawSecrets();
  const backends: Backends = {
    // Another release migrates by itself, with the one role that it knows.
    databaseUrls:
      options.checkout === undefined
        ? services.databaseUrls
        : { runtime: services.databaseUrl, owner: undefined, reader: undefined },
    redisUrls: services.redisUrls,
    secrets,
    base: baseEnvironment(options.env),
  };
  const fleet = await layOut(services, backends, options);
  const processes = new Map(
    [services.postgres, ...services.redisServers, ...fleet.processes].map((process) => [
      process.spec.name,
      process,
    ]),
  );
  const stop = async (): Promise<void> => {
    await Promise.all(fleet.processes.map((process) => process.stop()));
    await services.stop();
  };
  try {
    await startAll(fleet);
    const adminCredentials = { username: ADMIN_USERNAME, password: secrets.adminPassword };
    const admin = await new AdminClient(fleet.adminUrl).login(
      adminCredentials.username,
      adminCredentials.password,
    );
    const { adminUrl, adminUrls, nodeUrls, upstreamUrl, frontDoorUrl } = fleet;
    const { databaseUrl, redisUrl } = services;
    return {
      adminUrl,
      adminUrls,
      nodeUrls,
      upstreamUrl,
      frontDoorUrl,
      admin,
      adminCredentials,
      databaseUrl,
      redisUrl,
      shards: Number(backends.base.SHARDS),
      secrets,
      services,
      stop,
      ...handles(processes),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startAll({ processes }: Fleet): Promise<void> {
  const results = await Promise.allSettled(processes.map((process) => process.start()));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}

function handles(
  processes: ReadonlyMap<string, ManagedProcess>,
): Pick<Tollgate, 'processNames' | 'kill' | 'restart' | 'isRunning' | 'pidOf' | 'logs'> {
  const named = (name: string): ManagedProcess => {
    const found = processes.get(name);
    if (!found)
      throw new Error(
        `There is no process "${name}"; there are ${[...processes.keys()].join(', ')}.`,
      );
    return found;
  };
  return {
    processNames: [...processes.keys()],
    kill: (name, signal = 'SIGKILL') => named(name).kill(signal),
    restart: async (name, { env = {}, checkout } = {}) => {
      const process = named(name);
      if (process.isRunning) await process.stop();
      Object.assign(process.spec.env, env);
      if (checkout !== undefined) runFrom(process, checkout);
      await process.start();
    },
    isRunning: (name) => named(name).isRunning,
    pidOf: (name) => named(name).pid,
    logs: (name) => named(name).readLog(),
  };
}

function runFrom({ spec }: ManagedProcess, checkout: string): void {
  const args = spec.args.map((arg) => {
    const app = /\/apps\/([^/]+)\/dist\/main\.js$/.exec(arg)?.[1];
    return app === undefined ? arg : appEntry(app as AppName, checkout);
  });
  Object.assign(spec, { args });
}
