import type { Refusal } from './refusal.ts';
import { isUniqueViolation } from '../database/database-errors.ts';

/** Returns the result of a write. The violation of a unique constraint, given by name, becomes its refusal. */
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
