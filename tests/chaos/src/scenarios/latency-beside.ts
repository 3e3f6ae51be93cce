import type { Finding } from '@tollgate/audit';
import { type Tollgate, letPass } from '@tollgate/harness';
import { getOnce } from './get-once.ts';
import { readUse } from './process-use.ts';
import { notJudged, promisedOfTime, quantile } from './scenario.ts';

/** Holds what slow clients may add to the others' 99th percentile, and what two measurements without them may differ by, if anything is to be said of it. */
const P99_SHARE_MAX = 0.1;

interface Latency {
  p50: number;
  p99: number;
  samples: number;
  /** Is the share of time in which the node or this process, whichever waited longer, was ready to run while others had the cores. */
  waitingShare: number;
}

/** Measures `GET /v1/models` without a key, again and again: the part that every request pays, without an upstream. */
export async function measureLatency(
  { nodeUrls: [origin], pidOf }: Tollgate,
  durationMs: number,
): Promise<Latency> {
  const times: number[] = [];
  const waited = (): number[] =>
    [pidOf('node-1') ?? 0, process.pid].map((pid) => readUse(pid).waitedMs);
  const waitedBefore = waited();
  for (const until = Date.now() + durationMs; Date.now() < until;) {
    const startedAt = performance.now();
    await getOnce(`${origin}/v1/models`);
    times.push(performance.now() - startedAt);
    await letPass(10, 'the measured requests are no load of their own');
  }
  const waitingShare =
    Math.max(...waited().map((ms, index) => ms - (waitedBefore[index] ?? 0))) / durationMs;
  return {
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    samples: times.length,
    waitingShare,
  };
}

export function describeLatency({ p50, p99, waitingShare }: Latency): string {
  return `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${Math.round(100 * waitingShare)} % of the time waiting for a core`;
}

/** Judges where the measure is fine enough: a machine with a core to spare, and two calm measurements that agree. */
export function unchanged(calm: readonly [Latency, Latency], beset: Latency): Finding {
  const [name, promise] = [
    'others unslowed',
    `their p99 is at most ${100 * P99_SHARE_MAX} % above what it was`,
  ] as const;
  const [least = 0, most = 0] = calm.map(({ p99 }) => p99).toSorted((a, b) => a - b);
  if (most > least * (1 + P99_SHARE_MAX))
    return notJudged(
      name,
      promise,
      `two measurements before they came gave ${least.toFixed(1)} and ${most.toFixed(1)} ms`,
    );
  const problems =
    beset.p99 > most * (1 + P99_SHARE_MAX)
      ? [`${beset.p99.toFixed(1)} ms, ${most.toFixed(1)} ms before`]
      : [];
  return promisedOfTime(
    name,
    promise,
    Math.max(...[...calm, beset].map(({ waitingShare }) => waitingShare)),
    { compared: beset.samples, problems },
  );
}
