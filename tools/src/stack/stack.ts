import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { APP_PROJECTS, buildConsole, buildUnchecked } from '../build.ts';
import type { ManagedProcess, ProcessFolders } from '../process/managed-process.ts';
import { reclaim } from '../process/pid-file.ts';
import { supervise } from '../process/supervise.ts';
import { awaitEarlierWatchdog, startWatchdog, type Watchdog } from '../process/watchdog.ts';
import { FRONT_DOOR_ADDRESS, LOOPBACK_RANGES, type Backends } from './app-process.ts';
import {
  ADMIN_USERNAME,
  controlPlane,
  demoUpstream,
  frontDoor,
  proxyNode,
  type AppPlan,
} from './apps.ts';
import { APP_PORTS, claimPorts, local, type Ports } from './ports.ts';
import { migrate } from './migrate.ts';
import { withFreshPorts } from './fresh-ports.ts';
import { nodeName, NodeStanding, restoreNodes, type Standing } from './node-standing.ts';
import { PortBook } from './port-book.ts';
import type { Progress } from './progress.ts';
import type { Secrets } from './secrets.ts';
import { startEmbeddedServices } from './services.ts';

const NODE_COUNT = 2;
const EMBEDDED_SHARDS = '16';
/** Is longer than a watchdog needs to stop everything. */
const WATCHDOG_LIMIT_MS = 40_000;
/** Is less than the time a node gets before SIGKILL. */
const DRAIN_TIMEOUT_MS = '8000';

export interface Stack {
  baseUrl: string;
  adminUrl: string;
  proxyUrls: string[];
  upstreamUrl: string;
  /** Ends everything in order, in bounded time. It may be called again. */
  stop: () => Promise<void>;
  /** Holds the state of each node, by name, at its start. */
  standings: ReadonlyMap<string, Standing>;
}

export interface StackSettings {
  stateFolder: string;
  secrets: Secrets;
  progress: Progress;
  /** Registers nodes that an administrator deleted again. */
  restoresNodes?: boolean;
  /** Holds options for the Node of our apps, such as `--watch`. */
  nodeOptions?: readonly string[];
}

export function runFolder(stateFolder: string): string {
  return path.join(stateFolder, 'run');
}

/** Builds and starts the whole product; when a part does not start, everything is stopped again and the error says which and why. */
export async function startStack(settings: StackSettings): Promise<Stack> {
  const { stateFolder, progress } = settings;
  const log = (line: string): void => progress.note(line);
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
  private readonly standings = new Map<string, Standing>();
  private stopped: Promise<void> | undefined;

  constructor(folders: ProcessFolders, watchdog: Watchdog, log: (line: string) => void) {
    this.folders = folders;
    this.watchdog = watchdog;
    this.log = log;
  }

  async start(settings: StackSettings): Promise<Stack> {
    const { stateFolder, secrets, progress } = settings;
    const book = new PortBook(stateFolder);
    const starting = withFreshPorts(
      book,
      ['postgres', 'redis'],
      () =>
        startEmbeddedServices({
          stateFolder,
          folders: this.folders,
          ports: book,
          secrets,
          progress,
        }),
      this.log,
    ).then((started) => this.adopt(started));
    // Both are waited for even when one fails: whatever has started must be known before it can be stopped.
    const [built] = await Promise.allSettled([
      progress.step('Build', () => Promise.all([buildUnchecked(APP_PROJECTS), buildConsole()])),
      starting,
    ]);
    const services = await starting;
    if (built.status === 'rejected') throw built.reason;
    const base = baseEnvironment(!process.env.DATABASE_URL);
    const ours = await withFreshPorts(
      book,
      APP_PORTS,
      () => this.startApps(settings, { ...services, secrets, base }, book),
      this.log,
    );
    return {
      baseUrl: `http://${publicHost()}:${ours.frontDoor}`,
      adminUrl: local(ours.controlPlane),
      proxyUrls: ours.nodes.map(local),
      upstreamUrl: local(ours.upstream),
      standings: this.standings,
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

  /** Starts every app on ports of its own; when one fails, stops the others before it throws. */
  private async startApps(
    settings: StackSettings,
    backends: Backends,
    book: PortBook,
  ): Promise<Ports> {
    const ports = await claimPorts(book);
    const { progress } = settings;
    const plan: AppPlan = { settings, backends, ports, folders: this.folders };
    const isControlPlaneReady = Promise.withResolvers<void>();
    const launched = [
      ...this.migrations(progress, backends),
      progress
        .step('Control plane', () => this.launch(controlPlane(plan)))
        .then(isControlPlaneReady.resolve),
      progress.step('Demo upstream', () => this.launch(demoUpstream(plan))),
      progress.step('Front door', () => this.launch(frontDoor(plan))),
      this.startNodes(settings, plan, isControlPlaneReady.promise),
    ];
    try {
      await Promise.all(launched);
    } catch (error) {
      await Promise.all(this.apps.splice(0).map((app) => app.stop()));
      await Promise.allSettled(launched.slice(0, -1));
      throw error;
    }
    for (const app of this.apps) void supervise(app, this.stopping.signal, this.log);
    return ports;
  }

  /** Control planes wait for it. Where no owner is named they migrate by themselves. */
  private migrations(progress: Progress, { databaseUrls, base }: Backends): Promise<void>[] {
    if (databaseUrls.owner === undefined) return [];
    return [progress.step('Database schema', () => migrate(databaseUrls, base))];
  }

  private async startNodes(
    settings: StackSettings,
    plan: AppPlan,
    controlPlaneReady: Promise<void>,
  ): Promise<void> {
    const folders = nodeFolders(settings.stateFolder);
    if (settings.restoresNodes) {
      await controlPlaneReady;
      const admin = { username: ADMIN_USERNAME, password: plan.backends.secrets.adminPassword };
      const restored = await restoreNodes(local(plan.ports.controlPlane), admin, folders);
      settings.progress.note(
        restored.length > 0
          ? `Registered again: ${restored.join(', ')}.`
          : 'No node was deleted; none is registered again.',
      );
    }
    let canRegister = false;
    void controlPlaneReady.then(() => (canRegister = true));
    await Promise.all(
      [...folders].map(([name, dataFolder], index) => {
        const standing = new NodeStanding(local(plan.ports.nodes[index] as number));
        const isReady = async (): Promise<boolean> => {
          const read = await standing.read(canRegister);
          if (read !== null) this.standings.set(name, read);
          return read !== null;
        };
        const app = proxyNode(plan, { name, dataFolder, index, isReady });
        return settings.progress.step(name, () => this.launch(app));
      }),
    );
  }

  private async launch(app: ManagedProcess): Promise<void> {
    this.apps.push(app);
    await app.start();
  }

  /** Apps first, so that they can still settle what they hold; then what they keep it in. */
  private async stopAll(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.apps.map((app) => app.stop()));
    await Promise.all(this.services.map((service) => service.stop()));
    await this.watchdog.release();
  }
}

/** Returns the folder of each node, by name: journals and the last good snapshot. */
function nodeFolders(stateFolder: string): Map<string, string> {
  return new Map(
    Array.from({ length: NODE_COUNT }, (_, index) => {
      const name = nodeName(index);
      const folder = path.join(stateFolder, 'nodes', name);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return [name, folder];
    }),
  );
}

/** Returns the caller's variables that reach the apps (LOG_LEVEL, CURRENCY, limits); npm's own variables and our addresses do not. */
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
  return { ...defaults, ...inherited, TRUSTED_PROXIES: FRONT_DOOR_ADDRESS };
}

/** Returns the address to print when the front door listens on all of them. */
function publicHost(): string {
  const host = process.env.HOST ?? '127.0.0.1';
  return host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
}
