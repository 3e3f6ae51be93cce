import { simulate } from './simulate.ts';
import type { Parts } from './world.ts';

const SEEDS = 30;

export interface Found {
  /** The first that broke a promise; null when none did. */
  seed: number | null;
  step: number;
  what: string;
}

/** Runs seed after seed, with the faults that each draws, until one breaks a promise that the shipped parts keep in the same run. */
export async function findPlanted(parts: Parts, { firstSeed = 1 } = {}): Promise<Found> {
  for (let seed = firstSeed; seed < firstSeed + SEEDS; seed += 1) {
    const broken = await simulate({ seed, parts });
    if (broken.violation === null) continue;
    const sound = await simulate({ seed });
    if (sound.violation === null) return { seed, step: broken.steps, what: broken.violation };
  }
  return { seed: null, step: 0, what: `not found in ${SEEDS} seeds` };
}
