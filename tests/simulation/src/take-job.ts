import type { LiveState } from './live-store.ts';

const STALLED_MS = 30_000;

/** The oldest job that is ready. A duplicate delivery leaves it for another worker too. */
export function takeJob(isDuplicate: boolean) {
  return (state: LiveState, nowMs: number) => {
    const job = state.jobs.find((each) => each.takenUntilMs <= nowMs && each.readyAtMs <= nowMs);
    if (job && !isDuplicate) job.takenUntilMs = nowMs + STALLED_MS;
    return job && structuredClone(job);
  };
}
