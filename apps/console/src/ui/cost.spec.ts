import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { costOf, tokensFor } from './cost.ts';

test.each([
  [1_000_000, '2', '2'],
  [1, '2', '0.000002'],
  [1, '0.1', '0.000001'],
  [3_000_001, '1.5', '4.500002'],
  [9_007_199_254_740_991, '10', '90071992547.40991'],
])('%d tokens at %s a million cost %s', (tokens, price, cost) => {
  expect(costOf(tokens, price)).toBe(cost);
});

test('what an amount buys never costs more than the amount', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10_000_000 }),
      fc.integer({ min: 1, max: 100_000_000 }),
      (amountMicros, priceMicros) => {
        const amount = (amountMicros / 1e6).toFixed(6);
        const price = (priceMicros / 1e6).toFixed(6);
        const tokens = tokensFor(amount, price) ?? 0;
        expect(Number(costOf(tokens, price))).toBeLessThanOrEqual(Number(amount));
      },
    ),
  );
});

test('what is no amount buys nothing, and neither does an amount where tokens are free', () => {
  expect(['', '-1', '1e3', 'ten', '1.2.3'].map((text) => tokensFor(text, '2'))).toEqual(
    Array(5).fill(undefined),
  );
  expect(tokensFor('5', '0')).toBeUndefined();
});
