import type { ValueTransformer } from 'typeorm';
import { z } from 'zod';

/** Limits or ceilings by name, as a jsonb column has them: a name that this release does not know is left out by its reader. */
export const storedLimits = z.record(z.string(), z.number());

/** bigint columns as bigint: money in micro-units. `@Column({ type: 'bigint', transformer: bigintColumn })` */
export const bigintColumn: ValueTransformer = {
  from: (value: string | null): bigint | null => (value === null ? null : BigInt(value)),
  to: (value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value),
};

/** bigint columns as number, for tokens, sequences and ids; refuses what a number cannot hold exactly. */
export const safeIntegerColumn: ValueTransformer = {
  from: (value: string | null): number | null => (value === null ? null : toSafeInteger(value)),
  to: (value: unknown): unknown => value,
};

export function toSafeInteger(value: string | number | bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new RangeError(`${value} is not a safe integer`);
  return number;
}
