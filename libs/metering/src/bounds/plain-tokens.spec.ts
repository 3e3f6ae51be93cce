import { describe, expect, test } from '@jest/globals';
import { claimUnits, NO_USAGE, outputTokensOf, promptTokensOf } from '@tollgate/contracts';
import fc from 'fast-check';
import { chargeOf } from '../charge.ts';
import { premiumWeights } from '../premium-price.ts';
import { plainTokensOf } from './plain-tokens.ts';

const weight = fc.integer({ min: 0, max: 20_000_000 });
const prices = fc.record({
  weight_input: weight,
  weight_cache_read: weight,
  weight_cache_write: weight,
  weight_output: fc.integer({ min: 1_000, max: 50_000_000 }),
});
const count = fc.integer({ min: 0, max: 300_000 });
const usages = fc
  .record({ input: count, cacheRead: count, cacheWrite: count, output: count })
  .map((counts) => ({ ...NO_USAGE, ...counts }));

describe('plain tokens of a hold', () => {
  test('are at least those of any request that the hold pays for', () => {
    fc.assert(
      fc.property(prices, usages, count, (price, usage, slack) => {
        const promptTokens = promptTokensOf(usage) + slack;
        const outputTokens = outputTokensOf(usage) + slack;
        const plain = plainTokensOf(price, { promptTokens, outputTokens });
        const held = claimUnits(plain, chargeOf(usage, price));
        expect(held).toBeGreaterThanOrEqual(promptTokensOf(usage) + outputTokensOf(usage));
      }),
      { numRuns: 2_000 },
    );
  });

  test('are as many at a price with a multiplier, above 1 or below, and where the answer is charged without it', () => {
    fc.assert(
      fc.property(
        prices,
        usages,
        fc.integer({ min: 10_000, max: 6_000_000 }),
        (price, usage, factor) => {
          const held = premiumWeights(price, { tier: factor }, ['tier']);
          const tokens = {
            promptTokens: promptTokensOf(usage),
            outputTokens: outputTokensOf(usage),
          };
          // A stream goes on while its hold covers its usage at the price of its admission, whatever it is charged in the end.
          const units = claimUnits(plainTokensOf(held, tokens), chargeOf(usage, held));
          expect(units).toBeGreaterThanOrEqual(tokens.promptTokens + tokens.outputTokens);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test('are those of a prompt of the cheapest class and the output, and no more than its rounding', () => {
    const price = {
      weight_input: 1_000_000,
      weight_cache_read: 100_000,
      weight_cache_write: 1_250_000,
      weight_output: 5_000_000,
    };
    const plain = plainTokensOf(price, { promptTokens: 10_000, outputTokens: 4_096 });
    expect(plain).toEqual({ rate: 200_000, base: 9_800 });
    expect(claimUnits(plain, 1_000 + 5 * 4_096)).toBe(10_000 + 4_096);
    // A hold that was taken for the dearest class of the prompt covers more than it can be used for, by what the classes differ.
    expect(claimUnits(plain, 12_500 + 5 * 4_096)).toBe(12_300 + 4_096);
  });

  test('of free output are bounded by its limit, and of embeddings by the prompt', () => {
    const free = {
      weight_input: 1_000_000,
      weight_cache_read: 0,
      weight_cache_write: 0,
      weight_output: 999,
    };
    expect(plainTokensOf(free, { promptTokens: 7, outputTokens: 90 })).toEqual({
      ...{ rate: 0, base: 97 },
    });
    const least = { ...free, weight_output: 1_000 };
    expect(plainTokensOf(least, { promptTokens: 7, outputTokens: 90 }).rate).toBe(1_000_000_000);
    const priced = { ...free, weight_output: 1_000_000 };
    expect(plainTokensOf(priced, { promptTokens: 7, outputTokens: 0 })).toEqual({
      ...{ rate: 0, base: 7 },
    });
  });
});
