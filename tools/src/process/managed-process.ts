import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { RUN_MARK } from './lost-records.ts';
import { ProgressWatch } from './progress-watch.ts';
import { removePidFile, writePidFile } from './pid-file.ts';
import { identityOf } from './process-identity.mjs';
import { terminate, type Termination } from './terminate.ts';

const READY_POLL_MS = 25;
const LOG_TAIL_LINES = 25;

export interface ProcessSpec {
  /** Names the pid file and the log file. */
  name: string;
  command: string;
  args: readonly string[];
  argv0?: string;
  cwd?: string;
  env: Readonly<Record<string, string | undefined>>;
  uid?: number;
  gid?: number;
  stop: Termination;
  /** Runs before every start, also before a restart. */
  prepare?: () => Promise<void>;
  /** Is polled after the start until true. */
  isReady: (pid: number) => Promise<boolean>;
  /** Is the time without progress (`ProgressWatch`) after which the start has failed. */
  readyTimeoutMs: number;
}

export interface ProcessFolders {
  /** Is the folder of pid files. */
  run: string;
  logs: string;
}

/** Is one child process: started, watched until ready, stopped in bounded time. */
export class ManagedProcess {
  readonly spec: ProcessSpec;
  readonly logFile: string;
  private readonly folders: ProcessFolders;
  private child: ChildProcess | undefined;
  private exited: Promise<void> = Promise.resolve();
  private isStopping = false;

  constructor(spec: ProcessSpec, folders: ProcessFolders) {
    this.spec = spec;
    this.folders = folders;
    this.logFile = path.join(folders.logs, `${spec.name}.log`);
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  get isRunning(): boolean {
    return this.child !== undefined;
  }

  /** Resolves when the current run ends; at once when there is none. */
  get whenExited(): Promise<void> {
    return this.exited;
  }

  /** Resolves when ready; throws with the end of the log when the process dies or takes too long, and leaves nothing running then. */
  async start(): Promise<void> {
    if (this.child) throw new Error(`${this.spec.name} is already running.`);
    this.isStopping = false;
    await this.spec.prepare?.();
    // The process was stopped while it was prepared: a child that starts now would outlive us.
    if (this.isStopping) throw new Error(`${this.spec.name} was stopped while starting.`);
    const child = this.spawn();
    try {
      await this.waitUntilReady(child);
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    const pid = this.child?.pid;
    const identity = pid === undefined ? undefined : identityOf(pid);
    if (pid !== undefined && identity !== undefined) await terminate(pid, identity, this.spec.stop);
    await this.exited;
  }

  /** Sends the signal as it is and, for one that ends the process, waits for the end. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    if (!this.child) throw new Error(`${this.spec.name} is not running.`);
    this.child.kill(signal);
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await this.exited;
  }

  readLog(): string {
    try {
      return readFileSync(this.logFile, 'utf8');
    } catch {
      return '';
    }
  }

  private spawn(): ChildProcess {
    const { name, command, args, argv0, cwd, env, uid, gid, stop } = this.spec;
    mkdirSync(this.folders.logs, { recursive: true });
    const log = openSync(this.logFile, 'a', 0o600);
    const child = spawn(command, args, {
      env: { ...env, [RUN_MARK]: this.folders.run },
      // The child has a group of its own: Ctrl-C in the terminal reaches only us, and we stop the others in order.
      detached: true,
      stdio: ['ignore', log, log],
      ...(argv0 === undefined ? {} : { argv0 }),
      ...(cwd === undefined ? {} : { cwd }),
      ...(uid === undefined ? {} : { uid }),
      ...(gid === undefined ? {} : { gid }),
    });
    closeSync(log);
    this.child = child;
    if (child.pid !== undefined) writePidFile(this.folders.run, name, child.pid, stop);
    this.exited = new Promise((resolve) => {
      const finish = (): void => {
        if (this.child === child) this.child = undefined;
        if (child.pid !== undefined) removePidFile(this.folders.run, name, child.pid);
        resolve();
      };
      child.once('exit', finish);
      child.once('error', finish);
    });
    return child;
  }

  private async waitUntilReady(child: ChildProcess): Promise<void> {
    const { name, isReady, readyTimeoutMs } = this.spec;
    const progress = new ProgressWatch(readyTimeoutMs, this.logFile);
    for (; ; await delay(READY_POLL_MS)) {
      const pid = child.pid;
      if (pid === undefined || child.exitCode !== null || child.signalCode !== null)
        throw new Error(this.describe(`${name} ended while starting`));
      if (await isReady(pid)) return;
      if (progress.isOver(pid))
        throw new Error(this.describe(`${name} was not ready within ${progress.limit}`));
    }
  }

  private describe(problem: string): string {
    const tail = this.readLog().trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n');
    return `${problem}. The end of ${this.logFile}:\n${tail}`;
  }
}
