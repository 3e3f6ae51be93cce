import { expect, test } from '@jest/globals';
import { ReasoningRates } from './reasoning-rates.ts';

test('the rate of a model is the median of its last answers, whatever a single one did', () => {
  const rate = new ReasoningRates().of(1);
  for (const tokens of [100, 110, 90, 105, 1_000_000]) rate.observe({ tokens, silentMs: 1_000 });
  expect(rate.tokensIn(2_000)).toBe(210);
  expect(rate.tokensIn(-5)).toBe(0);
});

test('nothing is assumed of a model that few answers are known of, or that mostly shows what it generates', () => {
  const rates = new ReasoningRates();
  for (let answer = 0; answer < 4; answer++) rates.of(1).observe({ tokens: 100, silentMs: 10 });
  expect(rates.of(1).tokensIn(1_000)).toBe(0);
  for (const tokens of [0, -20, 0, 500, -3]) rates.of(2).observe({ tokens, silentMs: 10 });
  expect(rates.of(2).tokensIn(1_000)).toBe(0);
});

test('an old rate is forgotten', () => {
  const rate = new ReasoningRates().of(1);
  for (let answer = 0; answer < 33; answer++) rate.observe({ tokens: 1_000, silentMs: 10 });
  for (let answer = 0; answer < 33; answer++) rate.observe({ tokens: 10, silentMs: 10 });
  expect(rate.tokensIn(100)).toBe(100);
});
