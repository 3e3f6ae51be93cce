import { expect, test } from '@jest/globals';
import { retryHeaders } from '../../refusals.ts';
import { rateLimitHeaders } from './rate-limit-headers.ts';

test('names the tightest window, all policies, and the exact wait', () => {
  const windows = [
    { window: 'rpm' as const, limit: 10, remaining: 0, resetMs: 59_000 },
    { window: 'rpd' as const, limit: 1_000, remaining: 5, resetMs: 80_000_000 },
  ];
  expect(rateLimitHeaders(windows, 12_345)).toEqual({
    'x-ratelimit-limit-requests': '10',
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': '12.345s',
    'ratelimit-policy': '"rpm";q=10;w=60, "rpd";q=1000;w=86400',
    ratelimit: '"rpm";r=0;t=13',
  });
  expect(rateLimitHeaders([])).toEqual({});
});

test('behaviour 27: Retry-After never exceeds 60 s, and a longer wait says not to retry', () => {
  expect(retryHeaders(1)).toEqual({ 'retry-after': '1' });
  expect(retryHeaders(60_000)).toEqual({ 'retry-after': '60' });
  expect(retryHeaders(60_001)).toEqual({ 'retry-after': '60', 'x-should-retry': 'false' });
});
