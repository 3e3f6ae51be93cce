import { expect, test } from '@jest/globals';
import { retryHeaders } from '../../refusals.ts';
import { rateLimitHeaders } from './rate-limit-headers.ts';

const OWN = { owner: 'key' as const, models: '' };

test('names the tightest window, all policies, and the exact wait', () => {
  const windows = [
    { window: 'rpm' as const, ...OWN, limit: 10, remaining: 0, resetMs: 59_000 },
    { window: 'rpd' as const, ...OWN, limit: 1_000, remaining: 5, resetMs: 80_000_000 },
  ];
  const denied = { rate: { window: 'rpm' as const, ...OWN }, retryAfterMs: 12_345 };
  expect(rateLimitHeaders(windows, { denied, nowMs: Date.UTC(2026, 0, 1) })).toEqual({
    'anthropic-ratelimit-requests-limit': '10',
    'anthropic-ratelimit-requests-remaining': '0',
    'anthropic-ratelimit-requests-reset': '2026-01-01T00:00:13Z',
    'x-ratelimit-limit-requests': '10',
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': '12.345s',
    'ratelimit-policy': '"rpm";q=10;w=60, "rpd";q=1000;w=86400',
    ratelimit: '"rpm";r=0;t=13',
  });
  expect(rateLimitHeaders([])).toEqual({});
});

test('names the tightest window of requests and of tokens apart, whose it is and its models', () => {
  const windows = [
    { window: 'rpm' as const, ...OWN, limit: 10, remaining: 4, resetMs: 1_000 },
    { window: 'tpm' as const, ...OWN, limit: 9_000, remaining: 800, resetMs: 2_000 },
    {
      window: 'tph' as const,
      owner: 'account' as const,
      models: 'o*',
      limit: 90_000,
      remaining: 70,
      resetMs: 3_000,
    },
  ];
  expect(rateLimitHeaders(windows, { nowMs: Date.UTC(2026, 0, 1) })).toMatchObject({
    'x-ratelimit-limit-requests': '10',
    'x-ratelimit-limit-tokens': '90000',
    'x-ratelimit-remaining-tokens': '70',
    'x-ratelimit-reset-tokens': '3s',
    'anthropic-ratelimit-tokens-reset': '2026-01-01T00:00:03Z',
    'ratelimit-policy': '"rpm";q=10;w=60, "tpm";q=9000;w=60, "account tph o*";q=90000;w=3600',
    ratelimit: '"rpm";r=4;t=1, "account tph o*";r=70;t=3',
  });
});

test('behaviour 27: Retry-After never exceeds 60 s, and a longer wait says not to retry', () => {
  expect(retryHeaders(1)).toEqual({ 'retry-after': '1' });
  expect(retryHeaders(60_000)).toEqual({ 'retry-after': '60' });
  expect(retryHeaders(60_001)).toEqual({ 'retry-after': '60', 'x-should-retry': 'false' });
});
