import type { PlantedFault } from './planted-faults.ts';
import { Random } from './random.ts';
import { simulate, type RunResult } from './simulate.ts';

const RUN_MS = 90_000;
const SEEDS = 30;

export interface Found {
  /** The first that broke a promise; null when none did. */
  seed: number | null;
  step: number;
  what: string;
}

/** Runs seed after seed until one breaks a promise with the planted fault. With the shipped parts the same run must break none. */
export async function findPlanted(
  { parts, faults: draw }: Pick<PlantedFault, 'parts' | 'faults'>,
  { firstSeed = 1 } = {},
): Promise<Found> {
  for (let seed = firstSeed; seed < firstSeed + SEEDS; seed += 1) {
    const faults = draw(new Random(seed, 'planted'));
    const broken = await simulate({ seed, faults, parts, forMs: RUN_MS });
    if (broken.violation === null && broken.repairs.length === 0) continue;
    const sound = await simulate({ seed, faults, forMs: RUN_MS });
    const found = differenceOf(broken, sound);
    if (found) return { seed, ...found };
  }
  return { seed: null, step: 0, what: `not found in ${SEEDS} seeds` };
}

/** A broken promise, or a balance in Redis that had to be repaired; nothing that befalls the shipped parts in the same run. */
function differenceOf(broken: RunResult, sound: RunResult): Omit<Found, 'seed'> | undefined {
  if (broken.violation !== null && sound.violation === null)
    return { step: broken.steps, what: broken.violation };
  const [repair] = broken.repairs;
  if (!repair || sound.repairs.length > 0) return undefined;
  return { step: repair.step, what: `had to be repaired: ${repair.what}` };
}
