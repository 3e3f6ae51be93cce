import { describe, expect, test } from '@jest/globals';
import { localDecimal, plainDecimal } from './decimals.ts';

describe('a decimal is typed as the locale writes it', () => {
  test.each([
    ['en', '2.5', '2.5'],
    ['en', '1,234,567.5', '1234567.5'],
    ['en', ' -12.50 ', '-12.50'],
    ['zh-CN', '1,000', '1000'],
    ['en-ZA', '2,5', '2.5'],
    ['en-ZA', '1 234,5', '1234.5'],
    ['en-DE', '1.234,5', '1234.5'],
    ['en-DE', '0,000001', '0.000001'],
  ])('in %s %s is %s', (locale, typed, plain) => {
    expect(plainDecimal(typed, locale)).toBe(plain);
  });

  test.each([
    ['en', '2,5'],
    ['en', '0,500'],
    ['en', '1,23,456'],
    ['en', '1.2.3'],
    ['en', 'two'],
    ['en', ''],
    ['en-DE', '0.500'],
    ['en-DE', '1.5'],
  ])('in %s %s is no number of the locale, and stays as it is', (locale, typed) => {
    expect(plainDecimal(typed, locale)).toBe(typed);
  });

  test('an amount of the interface is shown so that it reads back as it was', () => {
    for (const locale of ['en', 'en-DE', 'en-ZA', 'zh-CN'])
      for (const amount of ['2.5', '1.125', '1000', '0.000001', '-3.25'])
        expect(plainDecimal(localDecimal(amount, locale), locale)).toBe(amount);
  });
});
