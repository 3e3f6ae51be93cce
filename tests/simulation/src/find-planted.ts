import { checkDrawnCalls } from './redis/check-drawn-calls.ts';
import { LuaError } from './redis/lua-values.ts';
import type { RedisFunctions } from './redis/redis-functions.ts';
import { simulate } from './simulate.ts';
import { Violation } from './violation.ts';
import type { Parts } from './world.ts';

/** Some faults need a moment that few seeds draw, as a loss right after a withdrawal. */
const SEEDS = 100;

export interface Found {
  /** Is the first seed that broke a promise; null when none did. */
  seed: number | null;
  step: number;
  what: string;
}

/** Runs seed after seed, with the calls and faults that each draws, until one breaks a promise that the shipped parts keep in the same run. */
export async function findPlanted(parts: Parts, { firstSeed = 1 } = {}): Promise<Found> {
  for (let seed = firstSeed; seed < firstSeed + SEEDS; seed += 1) {
    const what = parts.functions && brokenBy(parts.functions, seed);
    if (what) return { seed, step: 0, what };
    const broken = await simulate({ seed, parts });
    if (broken.violation === null) continue;
    const sound = await simulate({ seed });
    if (sound.violation === null) return { seed, step: broken.steps, what: broken.violation };
  }
  return { seed: null, step: 0, what: `not found in ${SEEDS} seeds` };
}

/** A spec shows that the shipped functions keep every rule. */
function brokenBy(functions: RedisFunctions, seed: number): string | undefined {
  try {
    checkDrawnCalls(functions, seed);
    return undefined;
  } catch (error) {
    if (error instanceof Violation) return error.message;
    // A function that fails in Lua shows no rule at work.
    if (error instanceof LuaError) return undefined;
    throw error;
  }
}
