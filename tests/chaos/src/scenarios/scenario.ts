import type { Finding } from '@tollgate/audit';

/** Holds what the caller of a scenario may choose; each scenario has its own defaults. */
export interface Order {
  times: number | undefined;
  seconds: number | undefined;
  /** Applies to `slow-clients`. */
  readers: number | undefined;
  /** Applies to `streams`: ms between two chunks of a stream. */
  everyMs: number | undefined;
  seed: number;
  log: (line: string) => void;
}

export interface Outcome {
  /** Holds what was measured: label and value, in the order to be read. */
  figures: (readonly [label: string, value: string])[];
  findings: Finding[];
}

export type Scenario = (order: Order) => Promise<Outcome>;

/** Describes a promise and what broke it. Where there was nothing to compare it has neither held nor broken. */
export function promised(
  name: string,
  promise: string,
  { compared, problems }: { compared: number; problems: string[] },
): Finding {
  return {
    name,
    promise,
    compared,
    problems,
    ...(compared === 0 && { notJudged: 'there was nothing to compare' }),
  };
}

/** Describes a promise that this run cannot judge, and why. */
export function notJudged(name: string, promise: string, reason: string): Finding {
  return { name, promise, compared: 0, problems: [], notJudged: reason };
}

/** When a node, or the process that measures it, waits longer than this for a core, the measurement includes other load of the machine: its times are reported, not judged. */
const WAITING_SHARE_MAX = 0.05;

/** Judges a promise about time. `waitingShare` is the share of the time in which the process was ready to run while others had the cores. */
export function promisedOfTime(
  name: string,
  promise: string,
  waitingShare: number,
  found: { compared: number; problems: string[] },
): Finding {
  return waitingShare <= WAITING_SHARE_MAX
    ? promised(name, promise, found)
    : notJudged(
        name,
        promise,
        `${Math.round(100 * waitingShare)} % of the time went by waiting for a core that others had`,
      );
}

export function inSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

/** Returns 0 for an empty list. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
