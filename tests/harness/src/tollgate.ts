import { mkdirSync } from 'node:fs';
import path from 'node:path';
import {
  AdminClient,
  appEntry,
  appProcess,
  controlPlaneEnvironment,
  drawSecrets,
  findFreePort,
  LOOPBACK_RANGES,
  nodeEnvironment,
  sameRedisUrl,
  type AppName,
  type Backends,
  type ManagedProcess,
  type Secrets,
} from '@tollgate/tools';
import { builtSchema } from './built-schema.ts';
import { startServices, type RedisKind, type Services } from './services.ts';

const ADMIN_USERNAME = 'admin';
/** Few, so that polling costs little on a small machine; more than one, so that mistakes between shards show. */
const SHARDS = '4';
const DRAIN_TIMEOUT_MS = '5000';

export interface TollgateOptions {
  /** Proxy nodes, named `node-1`, `node-2`, ... */
  nodes?: number;
  /** Processes per node; the first is `node-1`, the next `node-1.1`, ... */
  workers?: number;
  /** Replicas of the control plane: `control-plane`, `control-plane-2`, ... */
  controlPlanes?: number;
  frontDoor?: boolean;
  /** What TOLLGATE_TEST_REDIS names unless said here. */
  redis?: RedisKind;
  /** Added to the environment of each server of Redis that holds data. */
  redisEnv?: Readonly<Record<string, string>>;
  /** Environment of one process alone, for tests that cut its way to PostgreSQL and Redis. Asked once per control plane and node. */
  route?: (process: string, services: Services) => Promise<Readonly<Record<string, string>>>;
  /** Root of the checkout whose build runs, for comparisons; this one unless given. */
  checkout?: string;
  /** Every process has the operator's user of Redis, as before there were others. */
  hasOneRedisUser?: boolean;
  /** Added to the environment of every app. */
  env?: Readonly<Record<string, string>>;
}

/** A whole Tollgate of real processes, with the handles to use, watch and break it. URLs have no trailing slash. */
export interface Tollgate {
  adminUrl: string;
  /** One per replica of the control plane; `adminUrl` is the first. */
  adminUrls: string[];
  /** One per process: with `workers` > 1, a node's workers follow each other. */
  nodeUrls: string[];
  upstreamUrl: string;
  /** Undefined unless asked for. */
  frontDoorUrl: string | undefined;
  admin: AdminClient;
  adminCredentials: { username: string; password: string };
  databaseUrl: string;
  redisUrl: string;
  shards: number;
  secrets: Secrets;
  services: Services;
  /** Names for `kill`, `restart` and `logs`. */
  processNames: string[];
  /** Sends a signal; waits for the end unless it is SIGSTOP or SIGCONT. Nothing restarts by itself. */
  kill: (name: string, signal?: NodeJS.Signals) => Promise<void>;
  /** Starts a killed process on its old port and waits until it is ready; one that runs is stopped first. A change stays. */
  restart: (name: string, change?: Change) => Promise<void>;
  isRunning: (name: string) => boolean;
  /** Of the running process; undefined while it is down. */
  pidOf: (name: string) => number | undefined;
  logs: (name: string) => string;
  stop: () => Promise<void>;
}

interface Change {
  env?: Readonly<Record<string, string | undefined>>;
  /** Root of the checkout whose build runs from now on. */
  checkout?: string;
}

/** Needs a build (`npm test` makes it). A few seconds; call it in `beforeAll` with a timeout to match, and `stop` in `afterAll`. */
export async function startTollgate(options: TollgateOptions = {}): Promise<Tollgate> {
  const services = await startServices({
    // A build of another checkout brings a schema of its own.
    postgres: options.checkout === undefined ? await builtSchema() : true,
    redis: options.redis ?? true,
    ...(options.redisEnv && { redisEnv: options.redisEnv }),
  });
  const secrets = drawSecrets();
  const backends: Backends = {
    databaseUrl: services.databaseUrl,
    redisUrls: options.hasOneRedisUser ? sameRedisUrl(services.redisUrl) : services.redisUrls,
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

interface Fleet {
  adminUrl: string;
  adminUrls: string[];
  nodeUrls: string[];
  upstreamUrl: string;
  frontDoorUrl: string | undefined;
  processes: ManagedProcess[];
}

/** Nothing of the developer's own environment steers a test but what programs need to run at all. */
function baseEnvironment(
  added: Readonly<Record<string, string>> = {},
): Record<string, string | undefined> {
  const { PATH, HOME, TMPDIR } = process.env;
  return {
    PATH,
    HOME,
    TMPDIR,
    SHARDS,
    UPSTREAM_ALLOW_PRIVATE: LOOPBACK_RANGES,
    TRUSTED_PROXIES: LOOPBACK_RANGES,
    DRAIN_TIMEOUT_MS,
    PAYMENTS: 'sandbox',
    LOG_LEVEL: 'info',
    REPORT_MS: '500',
    REGISTRATIONS_PER_ADDRESS_PER_DAY: '1000000',
    ...added,
  };
}

async function layOut(
  services: Services,
  backends: Backends,
  { frontDoor = false, ...options }: TollgateOptions,
): Promise<Fleet> {
  const { checkout } = options;
  const { folders, folder } = services;
  const { base } = backends;
  const ports = new PortsOnce();
  const upstreamPort = await ports.next();
  const upstream = appProcess({
    name: 'demo-upstream',
    app: 'demo-upstream',
    port: upstreamPort,
    folders,
    checkout,
    env: { ...base, RECORD_FILE: path.join(folder, 'demo-upstream.jsonl') },
  });
  const setting: Setting = {
    services,
    backends,
    ports,
    options,
    routed: async (name) => {
      const { DATABASE_URL: databaseUrl = backends.databaseUrl, ...added } =
        (await options.route?.(name, services)) ?? {};
      return { ...backends, databaseUrl, base: { ...base, ...added } };
    },
  };
  const controlPlanes = await layOutControlPlanes(setting);
  const adminUrls = controlPlanes.map(({ url }) => url);
  const adminUrl = adminUrls[0] ?? '';
  const nodes = await layOutNodes(setting, adminUrls);
  const nodeUrls = nodes.map(({ url }) => url);
  const processes = [
    ...controlPlanes.map(({ process }) => process),
    upstream,
    ...nodes.map(({ process }) => process),
  ];
  const frontDoorPort = frontDoor ? await ports.next() : undefined;
  if (frontDoorPort !== undefined) {
    processes.push(
      appProcess({
        name: 'front-door',
        app: 'front-door',
        port: frontDoorPort,
        folders,
        checkout,
        env: { ...base, CONTROL_PLANE_URL: adminUrl, PROXY_URLS: nodeUrls.join(',') },
      }),
    );
  }
  return {
    adminUrl,
    adminUrls,
    nodeUrls,
    upstreamUrl: local(upstreamPort),
    frontDoorUrl: frontDoorPort === undefined ? undefined : local(frontDoorPort),
    processes,
  };
}

interface Setting {
  services: Services;
  backends: Backends;
  ports: PortsOnce;
  options: TollgateOptions;
  /** The backends with the environment of the named process. */
  routed: (name: string) => Promise<Backends>;
}

interface Placed {
  url: string;
  process: ManagedProcess;
}

async function layOutControlPlanes({
  services: { folders },
  backends,
  ports,
  options: { controlPlanes = 1, checkout },
  routed,
}: Setting): Promise<Placed[]> {
  const admin = { username: ADMIN_USERNAME, password: backends.secrets.adminPassword };
  const placed: Placed[] = [];
  for (let replica = 1; replica <= controlPlanes; replica += 1) {
    const name = replica === 1 ? 'control-plane' : `control-plane-${replica}`;
    const port = await ports.next();
    placed.push({
      url: local(port),
      process: appProcess({
        name,
        app: 'control-plane',
        port,
        folders,
        checkout,
        env: controlPlaneEnvironment(await routed(name), admin),
      }),
    });
  }
  return placed;
}

async function layOutNodes(
  {
    services: { folders, folder },
    ports,
    options: { nodes = 2, workers = 1, checkout },
    routed,
  }: Setting,
  adminUrls: readonly string[],
): Promise<Placed[]> {
  const placed: Placed[] = [];
  for (let node = 1; node <= nodes; node += 1) {
    const dataFolder = path.join(folder, 'nodes', `node-${node}`);
    mkdirSync(dataFolder, { recursive: true });
    // Spread over the replicas, as a load balancer would.
    const controlPlaneUrl = adminUrls[(node - 1) % adminUrls.length] ?? '';
    for (let worker = 0; worker < workers; worker += 1) {
      const name = worker === 0 ? `node-${node}` : `node-${node}.${worker}`;
      const port = await ports.next();
      const env = nodeEnvironment(await routed(name), {
        name: `node-${node}`,
        worker,
        dataFolder,
        port,
        controlPlaneUrl,
      });
      placed.push({
        url: local(port),
        process: appProcess({ name, app: 'proxy-node', port, folders, env, checkout }),
      });
    }
  }
  return placed;
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

class PortsOnce {
  private readonly given = new Set<number>();

  async next(): Promise<number> {
    const port = await findFreePort([], this.given);
    this.given.add(port);
    return port;
  }
}

function local(port: number): string {
  return `http://127.0.0.1:${port}`;
}
