import { expect, test } from '@jest/globals';
import { generatedAtMost, generationRate, GENERATION_RATES } from './generation-rate.ts';

test('a run without a report is charged by the rate of its own family, and of the fastest known one where its name says nothing', () => {
  expect(generationRate('o4-mini-2025-04-16')).toBe(180);
  expect(generationRate('openai/o3-deep-research')).toBe(110);
  expect(generationRate('gpt-5.1')).toBe(100);
  expect(generationRate('gpt-4o')).toBe(80);
  const largest = Math.max(...GENERATION_RATES.map(({ tokensPerSecond }) => tokensPerSecond));
  for (const unknown of ['', 'house-model', 'foo3']) expect(generationRate(unknown)).toBe(largest);
});

test('three times the usual rate is charged, and a rate that was seen counts where it is higher', () => {
  const upstreamModel = 'gpt-4o';
  expect(generatedAtMost(1_000, { upstreamModel, usualTokens: 0 })).toBe(240);
  expect(generatedAtMost(1_000, { upstreamModel, usualTokens: 200 })).toBe(600);
  expect(generatedAtMost(-5, { upstreamModel, usualTokens: 0 })).toBe(0);
});

test('each row names its source and when that was read', () => {
  for (const { source, asOf, tokensPerSecond } of GENERATION_RATES) {
    expect(source).toMatch(/^https:/);
    expect(asOf).toMatch(/^\d{4}-\d{2}$/);
    expect(tokensPerSecond).toBeGreaterThan(0);
  }
});
