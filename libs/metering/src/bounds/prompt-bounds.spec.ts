import { expect, test } from '@jest/globals';
import { PROMPT_BOUNDS, promptBoundOf, UNKNOWN_BOUND } from './prompt-bounds.ts';

const IMAGE = { width: 1_024, height: 1_024 };

// Images as the providers publish them, for the first 1,024 x 1,024 pixels and at most.
test.each([
  ['claude-3-5-sonnet-20241022', 'claude', 1_399, 1_600],
  ['claude-opus-4-20250514', 'claude', 1_399, 1_600],
  ['claude-opus-4-6', 'claude', 1_399, 1_600],
  ['claude-opus-4-7', 'claude of high resolution', 1_399, 4_784],
  ['gpt-oss-120b', 'gpt-oss', 765, 1_445],
  ['gpt-4o-mini-2024-07-18', 'gpt-4o-mini', 25_501, 48_169],
  ['gpt-5.1-mini', 'gpt mini', 1_659, 2_489],
  ['gpt-4.1-nano', 'gpt nano', 2_520, 3_779],
  ['gpt-5.2', 'gpt-5 and later', 1_024, 10_000],
  ['gpt-4o', 'gpt-4 and earlier', 1_762, 2_642],
  ['openai/o3', 'gpt-4 and earlier', 1_762, 2_642],
  ['gemini-2.5-pro', 'gemini 2', 1_032, 6_192],
  ['gemini-3-pro', 'gemini', 2_240, 6_192],
  ['pixtral-large', 'mistral', 1_406, 3_080],
  ['deepseek-chat', 'deepseek', 1_600, 1_600],
  ['qwen3-vl', 'qwen', 1_371, 16_386],
  ['grok-4', 'grok', 1_792, 1_792],
  ['sonar-pro', 'sonar', 1_399, 1_600],
])('%s is bounded as %s: an image at %i, the largest at %i', (model, family, image, largest) => {
  const bound = promptBoundOf([model]);
  expect(bound.family).toBe(family);
  expect(bound.images.of(IMAGE, null)).toBe(image);
  expect(bound.images.largest).toBe(largest);
});

test('a small image of gpt-5 is bounded by its tiles, a large one by its patches', () => {
  const { images } = promptBoundOf(['gpt-5.2']);
  expect(images.of({ width: 513, height: 100 }, null)).toBe(70 + 2 * 140);
  expect(images.of({ width: 3_200, height: 1_600 }, null)).toBe(5_000);
  expect(promptBoundOf(['gpt-4o']).images.of({ width: 513, height: 100 }, null)).toBe(425);
});

test('a model of an unknown name may be any of those that are known', () => {
  for (const models of [[], ['llama-4-maverick'], ['gpt-4o', 'llama-4-maverick']]) {
    const bound = promptBoundOf(models);
    for (const known of PROMPT_BOUNDS) {
      expect(bound.template).toBeGreaterThanOrEqual(known.template);
      expect(bound.toolPrompt).toBeGreaterThanOrEqual(known.toolPrompt);
      expect(bound.images.largest).toBeGreaterThanOrEqual(known.images.largest);
    }
  }
  // Grok's template, Claude's tools and the images of gpt-4o-mini are the largest.
  expect(UNKNOWN_BOUND).toMatchObject({ family: 'unknown', template: 1_000, toolPrompt: 850 });
  expect(UNKNOWN_BOUND.images.largest).toBe(48_169);
  expect(promptBoundOf(['no-such-model'])).toBe(UNKNOWN_BOUND);
});

test('where a request may go to several models, each part is bounded by the largest of theirs alone', () => {
  const bound = promptBoundOf(['claude-opus-4-7', 'grok-4', 'grok-4-fast']);
  expect(bound).toMatchObject({ family: 'several', template: 1_000, toolPrompt: 850 });
  expect(bound.images.of(IMAGE, null)).toBe(1_792);
  expect(bound.images.largest).toBe(4_784);
  expect(bound.source).toBe('claude of high resolution, grok');
  expect(promptBoundOf(['grok-4', 'grok-4-fast']).family).toBe('grok');
});
