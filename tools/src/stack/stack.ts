import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { APP_PROJECTS, build, buildConsole } from '../build.ts';
import type { ManagedProcess, ProcessFolders } from '../process/managed-process.ts';
import { reclaim } from '../process/pid-file.ts';
import { supervise } from '../process/supervise.ts';
import { awaitEarlierWatchdog, startWatchdog, type Watchdog } from '../process/watchdog.ts';
import {
  appProcess,
  controlPlaneEnvironment,
  LOOPBACK_RANGES,
  nodeEnvironment,
  type Backends,
} from './app-process.ts';
import { PortBook } from './port-book.ts';
import type { Secrets } from './secrets.ts';
import { startEmbeddedServices } from './services.ts';

const NODE_COUNT = 2;
const FRONT_DOOR_PORTS = [8080, 8081, 8088];
const EMBEDDED_SHARDS = '16';
/** Longer than a watchdog needs to stop everything. */
const WATCHDOG_LIMIT_MS = 40_000;
/** Less than the time a node gets before SIGKILL. */
const DRAIN_TIMEOUT_MS = '8000';

export const ADMIN_USERNAME = 'admin';

export interface Stack {
  baseUrl: string;
  adminUrl: string;
  proxyUrls: string[];
  upstreamUrl: string;
  /** Ends everything in order, in bounded time. May be called again. */
  stop: () => Promise<void>;
}

export interface StackSettings {
  stateFolder: string;
  secrets: Secrets;
  log: (line: string) => void;
  /** Options for the Node of our apps, e.g. `--watch`. */
  nodeOptions?: readonly string[];
}

export function runFolder(stateFolder: string): string {
  return path.join(stateFolder, 'run');
}

/** Builds and starts the whole product; when a part does not start, everything is stopped again and the error says which and why. */
export async function startStack(settings: StackSettings): Promise<Stack> {
  const { stateFolder, log } = settings;
  const folders: ProcessFolders = {
    run: runFolder(stateFolder),
    logs: path.join(stateFolder, 'logs'),
  };
  await awaitEarlierWatchdog(folders.run, WATCHDOG_LIMIT_MS);
  const orphans = await reclaim(folders.run, (_, { pid }) => pid !== process.pid);
  if (orphans.length > 0)
    log(`Stopped what an earlier run had left behind: ${orphans.join(', ')}.`);
  const run = new Run(folders, startWatchdog(folders.run), log);
  try {
    return await run.start(settings);
  } catch (error) {
    await run.stop();
    throw error;
  }
}

class Run {
  private readonly folders: ProcessFolders;
  private readonly watchdog: Watchdog;
  private readonly log: (line: string) => void;
  private readonly stopping = new AbortController();
  private readonly apps: ManagedProcess[] = [];
  private services: ManagedProcess[] = [];
  private stopped: Promise<void> | undefined;

  constructor(folders: ProcessFolders, watchdog: Watchdog, log: (line: string) => void) {
    this.folders = folders;
    this.watchdog = watchdog;
    this.log = log;
  }

  async start(settings: StackSettings): Promise<Stack> {
    const { stateFolder, secrets } = settings;
    const ports = new PortBook(stateFolder);
    const isEmbedded = !process.env.DATABASE_URL;
    const starting = startEmbeddedServices({
      stateFolder,
      folders: this.folders,
      ports,
      secrets,
    }).then((started) => this.adopt(started));
    // Both are waited for even when one fails: whatever has started must be known before it can be stopped.
    const [built] = await Promise.allSettled([
      Promise.all([build(APP_PROJECTS), buildConsole()]),
      starting,
    ]);
    const services = await starting;
    if (built.status === 'rejected') throw built.reason;
    const backends: Backends = { ...services, secrets, base: baseEnvironment(isEmbedded) };
    const ours = await claimPorts(ports);
    await this.startApps(settings, backends, ours);
    return {
      baseUrl: `http://${publicHost()}:${ours.frontDoor}`,
      adminUrl: local(ours.controlPlane),
      proxyUrls: ours.nodes.map(local),
      upstreamUrl: local(ours.upstream),
      stop: () => this.stop(),
    };
  }

  stop(): Promise<void> {
    this.stopped ??= this.stopAll();
    return this.stopped;
  }

  private adopt<T extends { processes: ManagedProcess[] }>(started: T): T {
    this.services = started.processes;
    for (const process of started.processes)
      void supervise(process, this.stopping.signal, this.log);
    return started;
  }

  private async startApps(
    { stateFolder, nodeOptions = [] }: StackSettings,
    backends: Backends,
    ports: Ports,
  ): Promise<void> {
    const { folders } = this;
    const admin = { username: ADMIN_USERNAME, password: backends.secrets.adminPassword };
    const controlPlaneUrl = local(ports.controlPlane);
    const nodes = ports.nodes.map((port, index) => {
      const name = `node-${index + 1}`;
      const dataFolder = path.join(stateFolder, 'nodes', name);
      mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
      return appProcess({
        name,
        app: 'proxy-node',
        port,
        folders,
        nodeOptions,
        env: nodeEnvironment(backends, { name, worker: 0, dataFolder, port, controlPlaneUrl }),
      });
    });
    const { base } = backends;
    const proxyUrls = ports.nodes.map(local).join(',');
    await Promise.all([
      this.launch(
        appProcess({
          name: 'control-plane',
          app: 'control-plane',
          port: ports.controlPlane,
          folders,
          nodeOptions,
          env: controlPlaneEnvironment(backends, admin),
        }),
      ),
      this.launch(
        appProcess({
          name: 'demo-upstream',
          app: 'demo-upstream',
          port: ports.upstream,
          folders,
          nodeOptions,
          env: { ...base, RECORD_FILE: path.join(stateFolder, 'demo-upstream.jsonl') },
        }),
      ),
      ...nodes.map((node) => this.launch(node)),
      this.launch(
        appProcess({
          name: 'front-door',
          app: 'front-door',
          port: ports.frontDoor,
          folders,
          nodeOptions,
          env: {
            ...base,
            HOST: process.env.HOST ?? '127.0.0.1',
            CONTROL_PLANE_URL: controlPlaneUrl,
            PROXY_URLS: proxyUrls,
          },
        }),
      ),
    ]);
  }

  private async launch(app: ManagedProcess): Promise<void> {
    this.apps.push(app);
    await app.start();
    void supervise(app, this.stopping.signal, this.log);
  }

  /** Apps first, so that they can still settle what they hold; then what they keep it in. */
  private async stopAll(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.apps.map((app) => app.stop()));
    await Promise.all(this.services.map((service) => service.stop()));
    await this.watchdog.release();
  }
}

interface Ports {
  frontDoor: number;
  controlPlane: number;
  upstream: number;
  nodes: number[];
}

async function claimPorts(ports: PortBook): Promise<Ports> {
  const frontDoor = process.env.PORT
    ? await ports.claimExactly('front-door', Number(process.env.PORT))
    : await ports.claim('front-door', FRONT_DOOR_PORTS);
  const controlPlane = await ports.claim('control-plane');
  const upstream = await ports.claim('demo-upstream');
  const nodes: number[] = [];
  for (let index = 0; index < NODE_COUNT; index += 1)
    nodes.push(await ports.claim(`node-${index + 1}`));
  return { frontDoor, controlPlane, upstream, nodes };
}

/** What the caller has set reaches the apps (LOG_LEVEL, CURRENCY, limits); npm's own variables and our addresses do not. */
function baseEnvironment(isEmbedded: boolean): Record<string, string | undefined> {
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(npm_|INIT_CWD$|PORT$|HOST$|NODE_OPTIONS$)/i.test(name),
    ),
  );
  const defaults = {
    SHARDS: EMBEDDED_SHARDS,
    UPSTREAM_ALLOW_PRIVATE: LOOPBACK_RANGES,
    DRAIN_TIMEOUT_MS,
    ...(isEmbedded ? { PAYMENTS: 'sandbox' } : {}),
  };
  return { ...defaults, ...inherited, TRUSTED_PROXIES: LOOPBACK_RANGES };
}

/** The address to print when the front door listens on all of them. */
function publicHost(): string {
  const host = process.env.HOST ?? '127.0.0.1';
  return host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
}

function local(port: number): string {
  return `http://127.0.0.1:${port}`;
}
