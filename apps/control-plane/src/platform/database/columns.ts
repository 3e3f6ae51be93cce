import type { ValueTransformer } from 'typeorm';
import { z } from 'zod';

/** Reads limits or ceilings by name from a jsonb column. Readers skip a name that this release does not know. */
export const storedLimits = z.record(z.string(), z.number());

/** Reads and writes bigint columns as bigint, for money in micro-units: `@Column({ type: 'bigint', transformer: bigintColumn })` */
export const bigintColumn: ValueTransformer = {
  from: (value: string | null): bigint | null => (value === null ? null : BigInt(value)),
  to: (value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value),
};

/** Reads and writes bigint columns as number, for tokens, sequences and ids. Refuses a value that a number cannot hold exactly. */
export const safeIntegerColumn: ValueTransformer = {
  from: (value: string | null): number | null => (value === null ? null : toSafeInteger(value)),
  to: (value: unknown): unknown => value,
};

export function toSafeInteger(value: string | number | bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new RangeError(`${value} is not a safe integer`);
  return number;
}
