import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { monotonicMs } from '../monotonic-ms.ts';

/** Is one process of the node; `cluster.fork` in production. */
export interface WorkerProcess {
  readonly pid: number | undefined;
  /** Resolves when it is gone, with why: an exit status or a signal's name. */
  readonly gone: Promise<number | string>;
  kill(signal: 'SIGTERM' | 'SIGKILL'): void;
}

export interface WorkerKeeperParts {
  count: number;
  /** Is the index of the first one; they follow each other. */
  firstIndex: number;
  fork: (index: number) => WorkerProcess;
  /** Time a worker has to end after SIGTERM. */
  stopTimeoutMs: number;
  log: Logger;
  now?: () => number;
}

const RETRY_MIN_MS = 100;
const RETRY_MAX_MS = 10_000;
/** A worker that lived this long restarts at once. */
const STABLE_MS = 30_000;

/** Keeps so many workers running. An index never changes hands while its worker lives, so each finds its own journal again. */
export class WorkerKeeper {
  readonly #parts: WorkerKeeperParts;
  readonly #now: () => number;
  readonly #running = new Set<WorkerProcess>();
  readonly #stopping = new AbortController();
  #kept: Promise<void>[] = [];

  constructor(parts: WorkerKeeperParts) {
    this.#parts = parts;
    this.#now = parts.now ?? monotonicMs;
  }

  start(): void {
    const { count, firstIndex } = this.#parts;
    this.#kept = Array.from({ length: count }, (_, offset) => this.#keep(firstIndex + offset));
  }

  /** Lets all workers drain, and resolves when the last is gone; those that outlast their time are killed. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#signal('SIGTERM');
    const timer = setTimeout(() => this.kill(), this.#parts.stopTimeoutMs);
    await Promise.all(this.#kept);
    clearTimeout(timer);
  }

  /** Ends all workers at once; their journals hold what they owed. */
  kill(): void {
    this.#signal('SIGKILL');
  }

  async #keep(index: number): Promise<void> {
    const { log, fork } = this.#parts;
    const { signal } = this.#stopping;
    for (let failures = 0; !signal.aborted;) {
      const startedAt = this.#now();
      const worker = fork(index);
      this.#running.add(worker);
      log.info({ index, pid: worker.pid }, 'worker started');
      const reason = await worker.gone;
      this.#running.delete(worker);
      if (signal.aborted) return;
      failures = this.#now() - startedAt >= STABLE_MS ? 0 : failures + 1;
      const waitMs =
        failures === 0 ? 0 : Math.min(RETRY_MIN_MS * 2 ** (failures - 1), RETRY_MAX_MS);
      log.error(
        { index, pid: worker.pid, reason, wait_ms: waitMs },
        'a worker exited and is restarted',
      );
      await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  #signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    for (const worker of this.#running) worker.kill(signal);
  }
}
