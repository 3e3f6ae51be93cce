import { MICROS_PER_UNIT, micros, type Micros } from '@tollgate/money';

/**
 * Lists currencies without hundredths: https://docs.stripe.com/currencies#zero-decimal and #three-decimal. Amounts of three-decimal currencies must
 * end in 0.
 */
const ZERO_DECIMAL = new Set([
  'BIF',
  'CLP',
  'DJF',
  'GNF',
  'JPY',
  'KMF',
  'KRW',
  'MGA',
  'PYG',
  'RWF',
  'VND',
  'VUV',
  'XAF',
  'XOF',
  'XPF',
]);
const THREE_DECIMAL = new Set(['BHD', 'JOD', 'KWD', 'OMR', 'TND']);
const HUNDREDTHS = 100n;

/**
 * Returns the amount in the provider's smallest unit; undefined when it is not a whole number of units. It never rounds, so that the credited amount
 * is the paid amount.
 */
export function toMinorUnits(amount: Micros, currency: string): number | undefined {
  const minor = microsPerMinorUnit(currency);
  const step = THREE_DECIMAL.has(currency) ? minor * 10n : minor;
  if (amount % step !== 0n) return undefined;
  const units = Number(amount / minor);
  return Number.isSafeInteger(units) ? units : undefined;
}

export function fromMinorUnits(units: number, currency: string): Micros {
  return micros(BigInt(units) * microsPerMinorUnit(currency));
}

function microsPerMinorUnit(currency: string): bigint {
  if (ZERO_DECIMAL.has(currency)) return MICROS_PER_UNIT;
  return THREE_DECIMAL.has(currency) ? MICROS_PER_UNIT / 1_000n : MICROS_PER_UNIT / HUNDREDTHS;
}
