import { expect, test } from '@jest/globals';
import { Refusal } from '../../refusals.ts';
import { DenyCache } from './deny-cache.ts';

const refusal = new Refusal('rate_limited');

test('forgets a denial after its exact wait, and after a second at the latest', () => {
  const cache = new DenyCache(10);
  cache.set('short', { refusal, retryAfterMs: 200, now: 1_000 });
  cache.set('long', { refusal, retryAfterMs: 50_000, now: 1_000 });
  expect(cache.get('short', 1_199)).toBe(refusal);
  expect(cache.get('short', 1_200)).toBeUndefined();
  expect(cache.get('long', 1_999)).toBe(refusal);
  expect(cache.get('long', 2_000)).toBeUndefined();
});

test('never holds more keys than its limit', () => {
  const cache = new DenyCache(100);
  for (let key = 0; key < 1_000; key++)
    cache.set(String(key), { refusal, retryAfterMs: 1_000, now: 0 });
  expect(cache.size).toBe(100);
});
