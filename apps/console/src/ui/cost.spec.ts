import { expect, test } from '@jest/globals';
import { costOf, timesFactor } from './cost.ts';

test.each([
  [1_000_000, '2', '2'],
  [1, '2', '0.000002'],
  [1, '0.1', '0.000001'],
  [3_000_001, '1.5', '4.500002'],
  [9_007_199_254_740_991, '10', '90071992547.40991'],
])('%d tokens at %s a million cost %s', (tokens, price, cost) => {
  expect(costOf(tokens, price)).toBe(cost);
});

test('a price times a factor is exact, and rounded to what a price can be', () => {
  expect(timesFactor('3', '1.1')).toBe('3.3');
  expect(timesFactor('0.000003', '0.5')).toBe('0.000002');
  expect(timesFactor('12345678.9', '1')).toBe('12345678.9');
  expect(timesFactor('2', '0')).toBe('0');
});
