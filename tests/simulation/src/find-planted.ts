import type { PlantedFault } from './planted-faults.ts';
import { Random } from './random.ts';
import { simulate, type RunResult } from './simulate.ts';

const RUN_MS = 90_000;

export interface Found {
  /** Tried until one broke a promise; all of them when none did. */
  seeds: number;
  result: RunResult | null;
}

/** Runs seed after seed until one breaks a promise with the planted fault. With the shipped parts the same runs must break none. */
export async function findPlanted(
  { parts, faults: draw, foundWithinSeeds }: PlantedFault,
  { firstSeed = 1 } = {},
): Promise<Found> {
  for (let tried = 1; tried <= foundWithinSeeds; tried += 1) {
    const seed = firstSeed + tried - 1;
    const random = new Random(seed, 'planted');
    const faults = draw(random);
    const result = await simulate({ seed, faults, parts, forMs: RUN_MS });
    if (!isBroken(result)) continue;
    const sound = await simulate({ seed, faults, forMs: RUN_MS });
    if (!isBroken(sound)) return { seeds: tried, result };
  }
  return { seeds: foundWithinSeeds, result: null };
}

/** A balance in Redis that stays wrong counts here: the same run with the shipped parts has none. */
function isBroken({ violation, drifts }: RunResult): boolean {
  return violation !== null || drifts.length > 0;
}
