import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  fixed,
  GEMINI_CROPS,
  GROK_BLOCKS,
  largestOf,
  patches,
  PIXTRAL_PATCHES,
  QWEN_PATCHES,
  tiles,
  visualTokens,
} from './image-bounds.ts';

const size = (width: number, height: number) => ({ width, height });
const FAMILIES = {
  'gpt-4o': tiles(85, 170),
  'gpt mini': patches(1_536, 1.62),
  claude: visualTokens(1_600),
  qwen: QWEN_PATCHES,
  pixtral: PIXTRAL_PATCHES,
  grok: GROK_BLOCKS,
  gemini: GEMINI_CROPS,
  fixed: fixed(1_120),
};

describe('the tokens of an image', () => {
  // These are the providers' own examples, and images at the edge of one more piece.
  test.each([
    ['gpt-4o', 1_024, 1_024, 765],
    ['gpt-4o', 2_048, 4_096, 1_105],
    ['gpt-4o', 512, 512, 255],
    ['gpt-4o', 513, 512, 425],
    ['gpt-4o', 4_096, 1_024, 765],
    ['gpt-4o', 2_752, 2_064, 765],
    ['gpt-4o', 1_368, 1_026, 765],
    ['gpt mini', 1_024, 1_024, 1_659],
    ['gpt mini', 32, 33, 4],
    ['gpt mini', 4_000, 4_000, 2_489],
    ['claude', 200, 200, 64],
    ['claude', 1_000, 1_000, 1_334],
    ['claude', 1_092, 1_092, 1_590],
    ['claude', 28, 29, 2],
    ['claude', 2_000, 2_000, 1_600],
    ['qwen', 28, 56, 4],
    ['qwen', 10_000, 10_000, 16_386],
    ['pixtral', 28, 28, 2],
    ['pixtral', 57, 29, 8],
    ['pixtral', 1_540, 1_540, 3_080],
    ['pixtral', 2_151, 2_151, 3_080],
    ['pixtral', 2_151, 28, 56],
    ['pixtral', 28, 2_151, 110],
    ['grok', 448, 448, 256],
    ['grok', 449, 448, 768],
    ['grok', 449, 449, 1_280],
    ['grok', 449, 1_345, 1_792],
    ['gemini', 256, 256, 258],
    ['gemini', 960, 540, 6 * 258],
    ['gemini', 3_072, 3_072, 16 * 258],
    ['gemini', 770, 385, 8 * 258],
    ['gemini', 2_304, 1_152, 6 * 258],
    ['gemini', 4_369, 365, 24 * 258],
    ['gemini', 6_144, 770, 24 * 258],
    ['gemini', 3_073, 1_153, 8 * 258],
    ['gemini', 3_072, 2_304, 12 * 258],
    ['gemini', 2_308, 2_000, 12 * 258],
    ['gemini', 9_216, 3_072, 10 * 258],
    ['fixed', 1, 1, 1_120],
  ] as const)('of %s, %i x %i pixels: %i', (family, width, height, tokens) => {
    expect(FAMILIES[family].of(size(width, height), null)).toBe(tokens);
  });

  test.each(Object.entries(FAMILIES))(
    'of %s are never more than those of its largest, which an image reaches',
    (_, bound) => {
      const edge = fc.integer({ min: 1, max: 20_000 });
      fc.assert(
        fc.property(edge, edge, (width, height) => {
          expect(bound.of(size(width, height), null)).toBeLessThanOrEqual(bound.largest);
        }),
        { numRuns: 3_000 },
      );
      const largest = [
        size(2_000, 4_000),
        size(10_000, 10_000),
        size(3_072, 385),
        size(2_048, 768),
      ];
      expect(Math.max(...largest.map((each) => bound.of(each, null)))).toBe(bound.largest);
    },
  );

  test('in low detail are the base of tiles, and the patches of 512 pixels', () => {
    expect(tiles(85, 170).of(size(4_000, 4_000), 'low')).toBe(85);
    expect(tiles(85, 170).of(size(1_024, 1_024), 'high')).toBe(765);
    const some = patches(10_000, 2, 2_500);
    expect(
      ([null, 'high', 'low'] as const).map((detail) => some.of(size(8_000, 8_000), detail)),
    ).toEqual([20_000, 5_000, 512]);
    expect(patches(1_536).of(size(8_000, 8_000), 'high')).toBe(1_536);
    expect(patches(1_536).largest).toBe(1_536);
    expect(some.of(size(64, 64), 'low')).toBe(8);
    expect(some.largest).toBe(20_000);
    expect(patches(1_536, 1.62).largest).toBe(2_489);
  });

  test('of several families are those of the dearest, at each size', () => {
    const both = largestOf([fixed(500), tiles(85, 170)]);
    expect(both.of(size(512, 512), null)).toBe(500);
    expect(both.of(size(1_024, 1_024), null)).toBe(765);
    expect(both.of(size(1_024, 1_024), 'low')).toBe(500);
    expect(both.largest).toBe(1_445);
  });
});
