import type { Finding } from '@tollgate/audit';

/** What the caller of a scenario may choose; each scenario has its own defaults. */
export interface Order {
  times: number | undefined;
  seconds: number | undefined;
  seed: number;
  log: (line: string) => void;
}

export interface Outcome {
  /** What was measured: label and value, in the order to be read. */
  figures: (readonly [label: string, value: string])[];
  findings: Finding[];
}

export type Scenario = (order: Order) => Promise<Outcome>;

/** A promise and what broke it. */
export function promised(name: string, promise: string, { compared, problems }: { compared: number; problems: string[] }): Finding {
  return { name, promise, compared, problems };
}

export function inSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

/** 0 of nothing. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
