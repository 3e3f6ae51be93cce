import type { QueueWorkers } from '../../../apps/control-plane/src/platform/queues/queue-workers.ts';
import type { Link } from './link.ts';
import type { SimulatedProcess } from './process.ts';
import type { LiveStore, Queue } from './redis/live-store.ts';
import { endJob, renewLocks, takeJobs } from './take-job.ts';

type Registration = Parameters<QueueWorkers['register']>;

interface UsageJobsParts {
  redis: LiveStore;
  link: Link;
  process: SimulatedProcess;
  /** Is true for a delivery of a job that is given to a second worker, as when the first one was taken for dead. */
  duplicates: () => boolean;
}

/** Is the queue of usage, from a control plane: it takes what is ready for the worker that is registered, as BullMQ does. */
export class UsageJobs implements Pick<QueueWorkers, 'register' | 'afterReply'> {
  readonly #parts: UsageJobsParts;
  readonly #name: string;
  readonly #running = new Set<number>();
  #registration: { work: Registration[1]; options: Registration[2] } | undefined;

  constructor(parts: UsageJobsParts) {
    this.#parts = parts;
    const { process } = parts;
    this.#name = `${process.name} of ${process.startedAtMs}`;
  }

  register(...[, work, options]: Registration): void {
    this.#registration = { work, options };
    this.#renew(options.lockDuration ?? 0);
  }

  afterReply(act: () => void): void {
    this.#parts.process.after(0, act, 'after a reply');
  }

  /** Resolves before the jobs are done. */
  async take(): Promise<void> {
    if (!this.#registration) return;
    const { work, options } = this.#registration;
    const { concurrency, lockDuration: lockMs = 0 } = options;
    const jobsMax = concurrency - this.#running.size;
    const isDuplicate = this.#parts.duplicates();
    const take = takeJobs({ worker: this.#name, jobsMax, lockMs, isDuplicate });
    for (const { id, job } of await this.#onQueue('take', take)) {
      this.#running.add(id);
      const given = { id: String(id), data: job, timestamp: 0 } as Parameters<typeof work>[0];
      const end = (isDone: boolean) =>
        this.#onQueue(isDone ? 'complete' : 'fail', endJob(this.#name, id, { isDone }));
      void work(given)
        .then(
          () => end(true),
          () => end(false),
        )
        // Its lock runs out, and it is given to a worker again.
        .catch(() => undefined)
        .finally(() => this.#running.delete(id));
    }
  }

  undone(): Promise<ReadonlySet<string>> {
    return this.#onQueue('undone', (queue) => new Set(queue.jobs.map(({ id }) => String(id))));
  }

  /** Pushes to a list of the worker's node, without the MAC of a list. */
  push(node: string, list: readonly object[]): Promise<void> {
    return this.#onQueue('acknowledge', (queue) => {
      const lists = queue.acknowledgements.get(node) ?? [];
      const added = [...lists, JSON.stringify(list)];
      queue.acknowledgements = new Map(queue.acknowledgements).set(node, added);
    });
  }

  #renew(lockMs: number): void {
    this.#parts.process.after(lockMs / 2, () => {
      this.#renew(lockMs);
      if (this.#running.size === 0) return;
      const renew = renewLocks(this.#name, new Set(this.#running), lockMs);
      this.#onQueue('renew', renew).catch(() => undefined);
    });
  }

  #onQueue<R>(label: string, act: (queue: Queue, nowMs: number) => R): Promise<R> {
    const { link, redis } = this.#parts;
    return link.call(label, () => redis.onQueue(act));
  }
}
