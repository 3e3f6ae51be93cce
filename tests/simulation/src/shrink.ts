import type { Fault } from './fault-plan.ts';
import { simulate, type RunOptions, type RunResult } from './simulate.ts';

const RUNS_MAX = 60;

/** Finds fewer faults with which the same seed still breaks a promise: halves, quarters and so on are omitted while it does (delta debugging). */
export async function shrink(
  failed: RunResult,
  options: Omit<RunOptions, 'seed'>,
): Promise<RunResult> {
  let smallest = failed;
  let runs = 0;
  for (let parts = 2; smallest.faults.length > 1 && runs < RUNS_MAX;) {
    const size = Math.ceil(smallest.faults.length / parts);
    let isSmaller = false;
    for (let from = 0; from < smallest.faults.length && runs < RUNS_MAX; from += size) {
      runs += 1;
      const faults = without(smallest.faults, from, size);
      const result = await simulate({ ...options, seed: failed.seed, faults });
      if (result.violation === null) continue;
      smallest = result;
      isSmaller = true;
      break;
    }
    if (!isSmaller && size === 1) break;
    parts = isSmaller ? 2 : parts * 2;
  }
  return smallest;
}

function without(faults: readonly Fault[], from: number, size: number): Fault[] {
  return [...faults.slice(0, from), ...faults.slice(from + size)];
}
