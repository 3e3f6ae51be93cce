import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ESTIMATE_FAMILIES, NEUTRAL } from './coefficients.ts';
import { estimateFamily, estimateOutput, estimatePrompt, type PromptCounts } from './estimate.ts';

const counts = (more: Partial<PromptCounts> = {}): PromptCounts => ({
  textTokens: 10,
  toolTokens: 0,
  callTokens: 0,
  messages: 1,
  tools: 0,
  calls: 0,
  images: [],
  pages: 0,
  ...more,
});

test.each([
  ['claude-opus-5-5', 'claude 4.7'],
  ['us.anthropic.claude-opus-4-7-v1:0', 'claude 4.7'],
  ['claude-sonnet-5', 'claude 4.7'],
  ['claude-opus-4-20250514', 'claude'],
  ['claude-3-5-haiku-20241022', 'claude'],
  ['anthropic/claude-haiku-4.5', 'claude'],
  ['gpt-oss:120b', 'gpt-oss'],
  ['gpt-5-nano', 'openai'],
  ['o3-mini', 'openai'],
  ['pixtral-12b', 'mistral'],
  ['qwen3', 'qwen'],
  ['real-7', 'other'],
])('%s is of the family %s', (model, family) => {
  expect(estimateFamily(model).name).toBe(family);
});

describe('an estimate', () => {
  test('of a prompt adds what the template adds for messages, tools and calls', () => {
    const claude = estimateFamily('claude-opus-5');
    const plain = estimatePrompt(claude, counts());
    // Anthropic puts a system prompt of some hundred tokens before tools.
    expect(estimatePrompt(claude, counts({ tools: 1, toolTokens: 40 })) - plain).toBeGreaterThan(
      300,
    );
    expect(estimatePrompt(claude, counts({ messages: 5 }))).toBeGreaterThan(plain);
    expect(estimatePrompt(claude, counts({ calls: 2, callTokens: 10 }))).toBeGreaterThan(plain);
  });

  test('of a prompt without tools is its text, its messages and its images, to the token where the family counts like o200k', () => {
    const openai = estimateFamily('gpt-4o');
    expect(estimatePrompt(openai, counts({ textTokens: 1_000, messages: 2 }))).toBe(1_011);
    const images = [{ width: 512, height: 512 }, null];
    expect(estimatePrompt(openai, counts({ images }))).toBe(17 + 255 + 765);
  });

  test.each([
    ['claude-opus-5', { width: 750, height: 100 }, 100],
    ['claude-opus-5', { width: 8_000, height: 8_000 }, 1_600],
    ['gpt-4o', { width: 1_024, height: 1_024 }, 765],
    ['gpt-4o', { width: 2_048, height: 4_096 }, 1_105],
    ['pixtral-12b', { width: 280, height: 56 }, 22],
    ['grok-4', { width: 239, height: 178 }, 256],
    ['grok-4', { width: 800, height: 400 }, 768],
    ['grok-4', { width: 8_000, height: 8_000 }, 1_792],
  ])("of an image follows the provider's formula: %s %j", (model, size, tokens) => {
    const family = estimateFamily(model);
    const added =
      estimatePrompt(family, counts({ images: [size] })) - estimatePrompt(family, counts());
    expect(Math.abs(added - tokens)).toBeLessThanOrEqual(1);
  });

  test('of an output is never below what was seen, and nothing for nothing', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ESTIMATE_FAMILIES, NEUTRAL),
        fc.nat(1_000_000),
        fc.nat(50),
        (family, textTokens, calls) => {
          const counts = { textTokens, calls, arguments: 3 * calls };
          expect(estimateOutput(family, counts)).toBeGreaterThanOrEqual(textTokens);
        },
      ),
    );
    for (const family of ESTIMATE_FAMILIES)
      expect(estimateOutput(family, { textTokens: 0, calls: 0, arguments: 0 })).toBe(0);
  });
});
