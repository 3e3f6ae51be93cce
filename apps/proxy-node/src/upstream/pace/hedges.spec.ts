import { expect, test } from '@jest/globals';
import { Hedges } from './hedges.ts';

const NOW = 1_000;
const HOUR_MS = 3_600_000;

function known(samples = 100, workers = 1): Hedges {
  const hedges = new Hedges(workers);
  for (let ms = 1; ms <= samples; ms += 1) hedges.observe(1, ms);
  return hedges;
}

test('a stream is slow once it is slower than 95 of 100; nothing is said of a model with few streams', () => {
  expect(known().delayMs(1, NOW)).toBe(96);
  expect(known(19).delayMs(1, NOW)).toBeNull();
  expect(known().delayMs(2, NOW)).toBeNull();
});

test('hedges stay within their share of streams and their tokens, of which each worker has its part, again each hour', () => {
  const hedges = known();
  const cap = { max_percent: 10, max_tokens_per_hour: 25 };
  const take = (now = NOW) => hedges.take(1, { cap, tokens: 10, now });
  for (let stream = 0; stream < 9; stream += 1) hedges.delayMs(1, NOW);
  expect(take()).toBe(false);
  for (let stream = 0; stream < 91; stream += 1) hedges.delayMs(1, NOW);
  expect([take(), take(), take()]).toEqual([true, true, false]);
  const shared = known(20, 2);
  for (let stream = 0; stream < 100; stream += 1) shared.delayMs(1, NOW);
  const takeShared = () => shared.take(1, { cap, tokens: 10, now: NOW });
  expect([takeShared(), takeShared()]).toEqual([true, false]);
  for (let stream = 0; stream < 10; stream += 1) hedges.delayMs(1, NOW + HOUR_MS);
  expect([take(NOW + HOUR_MS), take(NOW + HOUR_MS)]).toEqual([true, false]);
});
