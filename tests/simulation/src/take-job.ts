import type { LiveState } from './live-store.ts';

const STALLED_MS = 30_000;

/** The oldest job that is ready. A duplicate delivery leaves it for another worker too. */
export function takeJob(isDuplicate: boolean) {
  return (state: LiveState, { queueMs }: { queueMs: number }) => {
    const job = state.jobs.find(
      (each) => each.takenUntilMs <= queueMs && each.readyAtMs <= queueMs,
    );
    if (job && !isDuplicate) job.takenUntilMs = queueMs + STALLED_MS;
    return job && structuredClone(job);
  };
}
