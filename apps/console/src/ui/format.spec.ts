import { expect, test } from '@jest/globals';
import {
  formatAmount,
  formatDuration,
  formatMoney,
  formatPercent,
  formatRelative,
  formatShort,
  fractionDigits,
} from './format.ts';

const locale = 'en-US';

test('money keeps every digit it has, and its currency', () => {
  expect(formatMoney('1234567.000001', { currency: 'USD', locale })).toMatch(
    /^USD\s1,234,567\.000001$/,
  );
  expect(formatMoney('9007199254740993.5', { currency: 'USD', locale })).toMatch(
    /9,007,199,254,740,993\.50$/,
  );
});

test('amounts of one column end with their points below each other', () => {
  const digits = Math.max(...['1', '2.5', '3.000125'].map(fractionDigits));
  const texts = ['1', '2.5', '3.000125'].map((text) => formatAmount(text, { locale, digits }));
  expect(texts.map((text) => text.length - text.indexOf('.'))).toEqual([7, 7, 7]);
});

test('large counts are short, small ones whole', () => {
  expect([9_999, 12_345, 1_234_567].map((count) => formatShort(count, locale))).toEqual([
    '9,999',
    '12.3K',
    '1.23M',
  ]);
});

test('durations take the unit a person would', () => {
  expect(
    [0.4, 850, 1_240, 125_000, 119_700, 120_000].map((ms) => formatDuration(ms, locale)),
  ).toEqual(['0.4 ms', '850 ms', '1.24 sec', '2 min 5 sec', '2 min', '2 min']);
});

test('a small share is not rounded to nothing', () => {
  expect([0, 0.004, 0.5].map((share) => formatPercent(share, locale))).toEqual([
    '0%',
    '0.4%',
    '50%',
  ]);
});

test('a time is past, now or to come; what the watch here is too slow for is now', () => {
  const now = Date.parse('2026-11-28T12:00:00Z');
  const said = (at: string): string => formatRelative(at, { locale, now });
  expect(said('2026-11-28T11:57:00Z')).toBe('3 minutes ago');
  expect(said('2026-11-28T12:00:02Z')).toBe('now');
  expect(said('2026-11-29T00:00:00Z')).toBe('in 12 hours');
  expect(said('2026-12-28T12:00:00Z')).toBe('in 30 days');
});
