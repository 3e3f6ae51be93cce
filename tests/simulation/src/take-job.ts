import type { UsageJob } from '@tollgate/contracts';
import type { Queue } from './redis/live-store.ts';

const STALLED_MS = 30_000;

/** The oldest job that is ready. A duplicate delivery leaves it for another worker too. */
export function takeJob(isDuplicate: boolean) {
  return (queue: Queue, nowMs: number) => {
    const job = queue.jobs.find((each) => each.takenUntilMs <= nowMs && each.readyAtMs <= nowMs);
    if (job && !isDuplicate)
      queue.jobs = queue.jobs.map((each) =>
        each === job ? { ...job, takenUntilMs: nowMs + STALLED_MS } : each,
      );
    return job && structuredClone(job);
  };
}

/** Puts a job at the queue's end. */
export function addJob(job: UsageJob) {
  return (queue: Queue): void => {
    queue.lastJob += 1;
    const added = { id: queue.lastJob, job: structuredClone(job), takenUntilMs: 0, readyAtMs: 0 };
    queue.jobs = [...queue.jobs, added];
  };
}
