import { describe, expect, test } from '@jest/globals';
import { NO_USAGE, promptTokensOf, type TokenUsage } from '@tollgate/contracts';
import fc from 'fast-check';
import { PLAIN, price as anyPrice } from '../test/hold-requests.ts';
import { chargeOf } from './charge.ts';
import { premiumWeights } from './premium-price.ts';
import { cheapestReached, dearestReached, weightsAt } from './price-tiers.ts';

const LONG = { ...PLAIN, weight_input: 2_000_000, weight_output: 1_500_000 };
const LONGEST = { ...PLAIN, weight_input: 3_000_000, weight_cache_read: 500_000 };
const PRICE = {
  ...PLAIN,
  weight_cache_read: 100_000,
  tiers: [
    { above_prompt_tokens: 1_000, weights: LONG },
    { above_prompt_tokens: 2_000, weights: LONGEST },
  ],
};
const charge = (usage: Partial<TokenUsage>): number => chargeOf({ ...NO_USAGE, ...usage }, PRICE);

const count = fc.nat(400_000);
const usages = fc
  .record({ input: count, cacheRead: count, cacheWrite1h: count, audioInput: count, output: count })
  .map((counts): TokenUsage => ({ ...NO_USAGE, ...counts }));

describe('a price with tiers', () => {
  test('charges the whole request by the tier of its prompt, from one token above the threshold', () => {
    expect(charge({ input: 1_000, output: 10 })).toBe(1_000 + 10);
    expect(charge({ input: 1_001, output: 10 })).toBe(2 * 1_001 + 15);
    expect(charge({ input: 2_000 })).toBe(4_000);
    expect(charge({ input: 2_001 })).toBe(6_003);
  });

  test('counts what was read from a cache and written to one, and no output', () => {
    expect(charge({ input: 1, cacheRead: 1_000 })).toBe(2 + 1_000);
    expect(charge({ input: 1, cacheWrite: 500, cacheWrite1h: 500 })).toBe(2 + 1_000);
    expect(charge({ input: 1_000, output: 5_000 })).toBe(6_000);
  });

  test('lends the weight of a parent within the tier, not from the version', () => {
    const price = { ...PRICE, weight_audio_input: 9_000_000 };
    expect(chargeOf({ ...NO_USAGE, input: 1_000, audioInput: 1 }, price)).toBe(2_000 + 2);
  });

  test('charges no more for fewer tokens of a class within a tier, whatever happens at its threshold', () => {
    const step = fc.constantFrom('input', 'cacheRead', 'cacheWrite1h', 'audioInput', 'output');
    fc.assert(
      fc.property(anyPrice, usages, step, (price, usage, key) => {
        const more = { ...usage, [key]: usage[key as keyof TokenUsage] + 1 };
        const isOneTier =
          weightsAt(promptTokensOf(usage), price) === weightsAt(promptTokensOf(more), price);
        if (isOneTier) expect(chargeOf(more, price)).toBeGreaterThanOrEqual(chargeOf(usage, price));
      }),
    );
    const cheaper = {
      ...PRICE,
      tiers: [{ above_prompt_tokens: 10, weights: { ...PLAIN, weight_input: 1 } }],
    };
    expect(chargeOf({ ...NO_USAGE, input: 11 }, cheaper)).toBeLessThan(
      chargeOf({ ...NO_USAGE, input: 10 }, cheaper),
    );
  });

  test('is bounded by the dearest and the cheapest weights that the prompt can reach', () => {
    fc.assert(
      fc.property(anyPrice, usages, fc.nat(100_000), (price, usage, slack) => {
        const prompt = promptTokensOf(usage) + slack;
        const exact = chargeOf(usage, price);
        expect(chargeOf(usage, dearestReached(price, prompt))).toBeGreaterThanOrEqual(exact);
        expect(chargeOf(usage, cheapestReached(price, prompt))).toBeLessThanOrEqual(exact);
      }),
      { numRuns: 1_000 },
    );
  });

  test('multiplies the weights of the tier, which the tokens alone decide', () => {
    const fast = premiumWeights(PRICE, { 'speed=fast': 2_500_000 }, ['speed=fast']);
    expect(chargeOf({ ...NO_USAGE, input: 1_000, output: 2 }, fast)).toBe(2_505);
    expect(chargeOf({ ...NO_USAGE, input: 1_001, output: 2 }, fast)).toBe(5_005 + 8);
  });
});
