import { expect, test } from '@jest/globals';
import { micros } from '@tollgate/money';
import { fromMinorUnits, toMinorUnits } from './minor-units.ts';

test.each([
  ['USD', 1_230_000n, 123],
  ['JPY', 5_000_000n, 5],
  ['KWD', 1_250_000n, 1250],
])('%s: %d micro-units are %d smallest units and back', (currency, amount, units) => {
  expect(toMinorUnits(micros(amount), currency)).toBe(units);
  expect(fromMinorUnits(units, currency)).toBe(amount);
});

test.each([
  ['USD', 1_234_500n],
  ['JPY', 5_500_000n],
  ['KWD', 1_251_000n],
])('a payment in %s cannot be %d micro-units', (currency, amount) => {
  expect(toMinorUnits(micros(amount), currency)).toBeUndefined();
});
