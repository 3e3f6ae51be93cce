import { expect, test } from '@jest/globals';
import { Refusal } from '../../refusals.ts';
import { DenyCache } from './deny-cache.ts';

const refusal = new Refusal('rate_limited');
const asking = { keyHash: 'k', accountId: 7, model: 'opus' };
const OWN = { owner: 'key', models: '' } as const;

test('forgets a denial after its exact wait, and after a second at the latest', () => {
  const cache = new DenyCache(10);
  const [short, long] = ['short', 'long'].map((keyHash) => ({ ...asking, keyHash }));
  if (!short || !long) throw new Error('two keys are asked for');
  cache.set(short, { rate: OWN, refusal, retryAfterMs: 200, now: 1_000 });
  cache.set(long, { rate: OWN, refusal, retryAfterMs: 50_000, now: 1_000 });
  expect(cache.get(short, 1_199)).toBe(refusal);
  expect(cache.get(short, 1_200)).toBeUndefined();
  expect(cache.get(long, 1_999)).toBe(refusal);
  expect(cache.get(long, 2_000)).toBeUndefined();
});

test('never holds more keys than its limit', () => {
  const cache = new DenyCache(100);
  for (let key = 0; key < 1_000; key++)
    cache.set(
      { ...asking, keyHash: `k${key}` },
      { rate: OWN, refusal, retryAfterMs: 1_000, now: 0 },
    );
  expect(cache.size).toBe(100);
});

test('a full rate denies what it counts: its models, and every key of its account', () => {
  const isDenied = (rate: { owner: 'key' | 'account'; models: string }, change: object) => {
    const cache = new DenyCache(10);
    cache.set(asking, { rate, refusal, retryAfterMs: 500, now: 0 });
    return cache.get({ ...asking, ...change }, 1) === refusal;
  };
  const other = { keyHash: 'other' };
  const haiku = { model: 'haiku' };
  expect(isDenied(OWN, haiku)).toBe(true);
  expect(isDenied(OWN, other)).toBe(false);
  expect(isDenied({ owner: 'key', models: 'opus*' }, {})).toBe(true);
  expect(isDenied({ owner: 'key', models: 'opus*' }, haiku)).toBe(false);
  expect(isDenied({ owner: 'account', models: '' }, { ...other, ...haiku })).toBe(true);
  expect(isDenied({ owner: 'account', models: 'opus*' }, other)).toBe(true);
  expect(isDenied({ owner: 'account', models: 'opus*' }, { ...other, ...haiku })).toBe(false);
  expect(isDenied({ owner: 'account', models: '' }, { accountId: 8, ...other })).toBe(false);
});
