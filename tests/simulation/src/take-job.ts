import type { UsageJob } from '@tollgate/contracts';
import type { Queue, QueuedJob } from './redis/live-store.ts';

/** Is BullMQ's: a failed job waits for so long (`usage-queue.ts` of the node). */
const RETRY_MS = 5_000;

/** Describes a worker's hold on its jobs. With `isDuplicate` the job is left for another worker too, as when this one was taken for dead. */
export interface Take {
  worker: string;
  jobsMax: number;
  lockMs: number;
  isDuplicate: boolean;
}

/** Takes the oldest jobs that are ready. */
export function takeJobs({ worker, jobsMax, lockMs, isDuplicate }: Take) {
  return (queue: Queue, nowMs: number): QueuedJob[] => {
    const ready = (job: QueuedJob): boolean => job.takenUntilMs <= nowMs && job.readyAtMs <= nowMs;
    const taken = queue.jobs.filter(ready).slice(0, jobsMax);
    if (!isDuplicate)
      change(queue, (job) =>
        taken.includes(job) ? { ...job, takenUntilMs: nowMs + lockMs, takenBy: worker } : job,
      );
    return structuredClone(taken);
  };
}

/** Lengthens the locks that the worker still has. */
export function renewLocks(worker: string, ids: ReadonlySet<number>, lockMs: number) {
  return (queue: Queue, nowMs: number): void =>
    change(queue, (job) =>
      ids.has(job.id) && job.takenBy === worker && job.takenUntilMs > nowMs
        ? { ...job, takenUntilMs: nowMs + lockMs }
        : job,
    );
}

/** A job whose lock another worker has by now stays with that one. */
export function endJob(worker: string, id: number, { isDone }: { isDone: boolean }) {
  return (queue: Queue, nowMs: number): void => {
    const isOwn = (job: QueuedJob): boolean => job.id === id && job.takenBy === worker;
    if (isDone) queue.jobs = queue.jobs.filter((job) => !isOwn(job));
    else
      change(queue, (job) =>
        isOwn(job) ? { ...job, takenUntilMs: 0, readyAtMs: nowMs + RETRY_MS } : job,
      );
  };
}

/** Puts a job at the queue's end. */
export function addJob(job: UsageJob) {
  return (queue: Queue): void => {
    queue.lastJob += 1;
    const added = { id: queue.lastJob, job: structuredClone(job), takenBy: '' };
    queue.jobs = [...queue.jobs, { ...added, takenUntilMs: 0, readyAtMs: 0 }];
  };
}

function change(queue: Queue, of: (job: QueuedJob) => QueuedJob): void {
  queue.jobs = queue.jobs.map(of);
}
