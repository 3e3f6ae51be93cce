import { expect, test } from '@jest/globals';
import { readRateText, toRateText, type Rate } from './rate-text.ts';

const RATES: Rate[] = [
  { window: 'tpm', limit: 100_000, models: 'opus*,o1', counts_cache_reads: false },
  { window: 'rpd', limit: 5, models: '', counts_cache_reads: true },
];

test('a form shows rates as text, and sends what it shows', () => {
  expect(toRateText(RATES)).toBe('tpm 100000 opus*,o1; rpd 5');
  expect(readRateText(toRateText(RATES), RATES)).toEqual(RATES);
  expect(readRateText(' tpm  7  a, b ;')).toEqual([
    { window: 'tpm', limit: 7, models: 'a,b', counts_cache_reads: true },
  ]);
  expect(readRateText('')).toEqual([]);
});
