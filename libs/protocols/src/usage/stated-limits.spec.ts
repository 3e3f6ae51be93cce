import { expect, test } from '@jest/globals';
import { statedLimits } from './stated-limits.ts';

const NOW = Date.parse('2026-11-28T10:00:00Z');

test.each([
  ['nothing', {}, null],
  [
    'the names of OpenAI',
    {
      'x-ratelimit-remaining-requests': '59',
      'x-ratelimit-reset-requests': '1m0.5s',
      'x-ratelimit-remaining-tokens': '149984',
      'x-ratelimit-reset-tokens': '6ms',
    },
    { requests: { remaining: 59, resetMs: 60_500 }, tokens: { remaining: 149_984, resetMs: 6 } },
  ],
  [
    'the names of Anthropic, the least of its tokens',
    {
      'anthropic-ratelimit-requests-remaining': '0',
      'anthropic-ratelimit-requests-reset': '2026-11-28T10:00:07Z',
      'anthropic-ratelimit-input-tokens-remaining': '9000',
      'anthropic-ratelimit-input-tokens-reset': '2026-11-28T09:59:00Z',
      'anthropic-ratelimit-output-tokens-remaining': '20',
    },
    { requests: { remaining: 0, resetMs: 7_000 }, tokens: { remaining: 20, resetMs: 1_000 } },
  ],
  [
    'a reset in seconds, and one that makes no sense',
    {
      'x-ratelimit-remaining-requests': '3',
      'x-ratelimit-reset-requests': '2.5',
      'x-ratelimit-remaining-tokens': '4',
      'x-ratelimit-reset-tokens': 'soon',
    },
    { requests: { remaining: 3, resetMs: 2_500 }, tokens: { remaining: 4, resetMs: 1_000 } },
  ],
  ['a count that is none', { 'x-ratelimit-remaining-requests': '-1' }, null],
])('the stated limits of an answer are read: %s', (_, headers, limits) => {
  expect(statedLimits(headers, NOW)).toEqual(limits);
});
