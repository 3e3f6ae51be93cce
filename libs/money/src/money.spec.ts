import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { divideCeil, divideFloor } from './divide.ts';
import { formatAmount, InvalidAmount, micros, parseAmount } from './micros.ts';
import { costOfTokens } from './token-cost.ts';

const LARGEST = 9_223_372_036_854_775_807n;

describe('integer division', () => {
  test.each([
    [7n, 2n, 3n, 4n],
    [-7n, 2n, -4n, -3n],
    [6n, 3n, 2n, 2n],
    [-6n, 3n, -2n, -2n],
    [0n, 5n, 0n, 0n],
    [1n, 5n, 0n, 1n],
    [-1n, 5n, -1n, 0n],
    [1n, 1n, 1n, 1n],
  ])('%s by %s is %s rounded down and %s rounded up', (dividend, divisor, floor, ceil) => {
    expect(divideFloor(dividend, divisor)).toBe(floor);
    expect(divideCeil(dividend, divisor)).toBe(ceil);
  });

  test('refuses a divisor that is not positive', () => {
    for (const divisor of [0n, -1n]) {
      expect(() => divideFloor(1n, divisor)).toThrow('divisor must be positive');
      expect(() => divideCeil(1n, divisor)).toThrow('divisor must be positive');
    }
  });
});

describe('amounts', () => {
  test.each([
    ['0', 0n],
    ['1', 1_000_000n],
    ['0.000001', 1n],
    ['-0.000001', -1n],
    ['1.5', 1_500_000n],
    ['-12.000345', -12_000_345n],
    ['100', 100_000_000n],
    ['9223372036854.775807', LARGEST],
    ['-9223372036854.775807', -LARGEST],
  ])('%s is %s micro-units, and is written so', (text, value) => {
    expect(parseAmount(text)).toBe(value);
    expect(formatAmount(value)).toBe(text);
  });

  test('are read from numbers too, with or without trailing zeros', () => {
    expect(parseAmount(2.25)).toBe(2_250_000n);
    expect(parseAmount('2.250000')).toBe(2_250_000n);
  });

  test.each(['', '1.', '.5', '1e3', '0.0000001', '--1', '1,5', ' 1', Number.NaN, 1e-7, Infinity])(
    'are never read from anything else, such as %p',
    (text) => {
      expect(() => parseAmount(text)).toThrow(InvalidAmount);
    },
  );

  test('end where the column of the database ends', () => {
    expect([micros(LARGEST), micros(-LARGEST)]).toEqual([LARGEST, -LARGEST]);
    for (const beyond of [LARGEST + 1n, -LARGEST - 1n])
      expect(() => micros(beyond)).toThrow(InvalidAmount);
    expect(() => parseAmount('9223372036854.775808')).toThrow(InvalidAmount);
  });

  test('are the same after they were written and read', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -LARGEST, max: LARGEST }), (value) => {
        expect(parseAmount(formatAmount(value))).toBe(value);
      }),
    );
  });
});

test('tokens cost their price per million, rounded up to the next micro-unit', () => {
  const cost = (tokens: bigint, pricePerMillion: bigint) =>
    costOfTokens({ tokens, pricePerMillion: micros(pricePerMillion) });
  expect(cost(1_000_000n, 3_000_000n)).toBe(3_000_000n);
  expect(cost(1n, 1n)).toBe(1n);
  expect(cost(999_999n, 1n)).toBe(1n);
  expect(cost(1_000_001n, 1n)).toBe(2n);
  expect(cost(1_000n, 1_000n)).toBe(1n);
  expect(cost(0n, 5n)).toBe(0n);
});
