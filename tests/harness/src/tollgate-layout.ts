import { mkdirSync } from 'node:fs';
import path from 'node:path';
import {
  appProcess,
  controlPlaneEnvironment,
  findFreePort,
  LOOPBACK_RANGES,
  nodeEnvironment,
  type Backends,
  type ManagedProcess,
} from '@tollgate/tools';
import type { Services } from './services.ts';
import type { TollgateOptions } from './tollgate-options.ts';

export const ADMIN_USERNAME = 'admin';
/** Is small, so that polling costs little on a small machine, and more than one, so that mistakes between shards show. */
const SHARDS = '4';
const DRAIN_TIMEOUT_MS = '5000';

export interface Fleet {
  adminUrl: string;
  adminUrls: string[];
  nodeUrls: string[];
  upstreamUrl: string;
  frontDoorUrl: string | undefined;
  processes: ManagedProcess[];
}

/** Nothing of the developer's own environment steers a test but what programs need to run at all. */
export function baseEnvironment(
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

export async function layOut(
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
      const { DATABASE_URL: runtime = backends.databaseUrls.runtime, ...added } =
        (await options.route?.(name, services)) ?? {};
      const databaseUrls = { ...backends.databaseUrls, runtime };
      return { ...backends, databaseUrls, base: { ...base, ...added } };
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
  /** Returns the backends with the environment of the named process. */
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
    // Nodes are spread over the replicas, as a load balancer would.
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
