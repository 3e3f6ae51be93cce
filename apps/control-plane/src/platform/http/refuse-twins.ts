import type { Refusal } from './refusal.ts';
import { isUniqueViolation } from '../database/database-errors.ts';

/** The result of a write. A violated unique constraint, by its name, becomes its refusal. */
export async function refuseTwins<T>(
  result: Promise<T>,
  refusals: Readonly<Record<string, () => Refusal>>,
): Promise<T> {
  try {
    return await result;
  } catch (error) {
    const violated = Object.keys(refusals).find((name) => isUniqueViolation(error, name));
    throw (violated !== undefined && refusals[violated]?.()) || error;
  }
}
