/** Holds money as an exact count of millionths of the configured currency. `number` never holds money. */
export type Micros = bigint & { readonly __micros: unique symbol };

export const MICROS_PER_UNIT = 1_000_000n;
/** Is the maximum of a bigint column of PostgreSQL. */
const MICROS_MAX = 9_223_372_036_854_775_807n;
const DECIMAL_PATTERN = /^(-?)(\d{1,13})(?:\.(\d{1,6}))?$/;

export class InvalidAmount extends Error {}

export function micros(value: bigint): Micros {
  if (value > MICROS_MAX || value < -MICROS_MAX) throw new InvalidAmount('amount is out of range');
  return value as Micros;
}

/**
 * Reads a decimal amount of currency units, at most 6 places, from a JSON string or number.
 * Refuses exponents, NaN, infinities and numbers JSON could not hold exactly.
 */
export function parseAmount(input: string | number): Micros {
  const text = typeof input === 'number' ? String(input) : input;
  const match = DECIMAL_PATTERN.exec(text);
  if (!match) throw new InvalidAmount('must be a decimal number with at most 6 places');
  const [, sign, units = '0', places = ''] = match;
  const value = BigInt(units) * MICROS_PER_UNIT + BigInt(places.padEnd(6, '0'));
  return micros(sign === '-' ? -value : value);
}

/** Writes a decimal string without trailing zeros: 1500000n -> "1.5". */
export function formatAmount(value: bigint): string {
  const sign = value < 0n ? '-' : '';
  const absolute = value < 0n ? -value : value;
  const places = (absolute % MICROS_PER_UNIT).toString().padStart(6, '0').replace(/0+$/, '');
  return `${sign}${absolute / MICROS_PER_UNIT}${places ? `.${places}` : ''}`;
}
