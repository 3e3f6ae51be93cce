import path from 'node:path';
import type { ManagedProcess, ProcessFolders } from '../process/managed-process.ts';
import {
  appProcess,
  controlPlaneEnvironment,
  FRONT_DOOR_ADDRESS,
  nodeEnvironment,
  type Backends,
} from './app-process.ts';
import { local, type Ports } from './ports.ts';

export const ADMIN_USERNAME = 'admin';

/** Holds what the processes of one stack are made from. */
export interface AppPlan {
  settings: { stateFolder: string; nodeOptions?: readonly string[] };
  backends: Backends;
  ports: Ports;
  folders: ProcessFolders;
}

export function controlPlane({ settings, backends, ports, folders }: AppPlan): ManagedProcess {
  const admin = { username: ADMIN_USERNAME, password: backends.secrets.adminPassword };
  return appProcess({
    name: 'control-plane',
    app: 'control-plane',
    port: ports.controlPlane,
    folders,
    nodeOptions: settings.nodeOptions ?? [],
    env: controlPlaneEnvironment(backends, admin),
  });
}

export function demoUpstream({ settings, backends, ports, folders }: AppPlan): ManagedProcess {
  return appProcess({
    name: 'demo-upstream',
    app: 'demo-upstream',
    port: ports.upstream,
    folders,
    nodeOptions: settings.nodeOptions ?? [],
    env: { ...backends.base, RECORD_FILE: path.join(settings.stateFolder, 'demo-upstream.jsonl') },
  });
}

export interface NodePlan {
  name: string;
  dataFolder: string;
  /** Distinguishes the ports of processes of one kind. */
  index: number;
  isReady: () => Promise<boolean>;
}

export function proxyNode(
  { settings, backends, ports, folders }: AppPlan,
  { name, dataFolder, index, isReady }: NodePlan,
): ManagedProcess {
  const port = ports.nodes[index] as number;
  const controlPlaneUrl = local(ports.controlPlane);
  return appProcess({
    name,
    app: 'proxy-node',
    port,
    folders,
    nodeOptions: settings.nodeOptions ?? [],
    env: nodeEnvironment(backends, { name, worker: 0, dataFolder, port, controlPlaneUrl }),
    isReady,
  });
}

/** Listening is enough: it also serves the console and the administration interface while no node is ready. */
export function frontDoor({ settings, backends, ports, folders }: AppPlan): ManagedProcess {
  return appProcess({
    name: 'front-door',
    app: 'front-door',
    port: ports.frontDoor,
    folders,
    nodeOptions: settings.nodeOptions ?? [],
    readyPath: '/healthz',
    env: {
      ...backends.base,
      HOST: process.env.HOST ?? '127.0.0.1',
      TRUSTED_PROXIES: process.env.TRUSTED_PROXIES,
      CONNECT_FROM: FRONT_DOOR_ADDRESS,
      CONTROL_PLANE_URL: local(ports.controlPlane),
      PROXY_URLS: ports.nodes.map(local).join(','),
    },
  });
}
