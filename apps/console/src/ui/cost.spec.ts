import { expect, test } from '@jest/globals';
import { costOf } from './cost.ts';

test.each([
  [1_000_000, '2', '2'],
  [1, '2', '0.000002'],
  [1, '0.1', '0.000001'],
  [3_000_001, '1.5', '4.500002'],
  [9_007_199_254_740_991, '10', '90071992547.40991'],
])('%d tokens at %s a million cost %s', (tokens, price, cost) => {
  expect(costOf(tokens, price)).toBe(cost);
});
