import { describe, expect, test } from '@jest/globals';
import { NO_USAGE, tokenFields, usageOfFinal, weightFields } from '@tollgate/contracts';
import fc from 'fast-check';
import { chargeOf, dearestWeight, mapWeights, outputPaidBy, priceInForce } from './charge.ts';
import { chargeOfFinal } from './charge-of-final.ts';

const PLAIN = {
  weight_input: 1_000_000,
  weight_output: 1_000_000,
  weight_cache_read: 1_000_000,
  weight_cache_write: 1_000_000,
};

describe('chargeOf', () => {
  test('costs nothing for nothing', () => {
    expect(chargeOf(NO_USAGE, PLAIN)).toBe(0);
  });

  test('adds the four classes by their weights and rounds up once', () => {
    const price = {
      weight_input: 500_000,
      weight_output: 3_000_000,
      weight_cache_read: 100_000,
      weight_cache_write: 1_250_000,
    };
    expect(
      chargeOf(
        { ...NO_USAGE, input: 3, output: 2, cacheRead: 7, cacheWrite: 1, reasoning: 2 },
        price,
      ),
    ).toBe(Math.ceil(1.5 + 6 + 0.7 + 1.25));
  });

  test('is exact from the first millionth to the last safe integer', () => {
    const input = (tokens: number, weight_input: number) =>
      chargeOf({ ...NO_USAGE, input: tokens }, { ...PLAIN, weight_input });
    expect([input(1, 0), input(1, 1), input(1, 1_000_000), input(1, 1_000_001)]).toEqual([
      0, 1, 1, 2,
    ]);
    // The sum of products is beyond the safe integers, and the charge is not.
    expect(input(9_007_199_254, 1_000_000)).toBe(9_007_199_254);
    expect(input(9_007_199_255, 1_000_001)).toBe(9_007_208_263);
    expect(input(Number.MAX_SAFE_INTEGER, 1_000_000)).toBe(Number.MAX_SAFE_INTEGER);
    const both = { ...NO_USAGE, input: 5_000_000_000, output: 5_000_000_001 };
    expect(chargeOf(both, PLAIN)).toBe(10_000_000_001);
    expect(chargeOf({ ...both, cacheRead: 1 }, { ...PLAIN, weight_cache_read: 1 })).toBe(
      10_000_000_002,
    );
  });

  test('bills reasoning only as the output it is part of', () => {
    expect(chargeOf({ ...NO_USAGE, output: 10, reasoning: 9 }, PLAIN)).toBe(10);
  });

  test('refuses counts that are negative, broken, or too large to be exact', () => {
    for (const input of [-1, 0.5, Number.NaN, 2 ** 53])
      expect(() => chargeOf({ ...NO_USAGE, input }, PLAIN)).toThrow(RangeError);
    expect(() =>
      chargeOf({ ...NO_USAGE, input: Number.MAX_SAFE_INTEGER, output: 1 }, PLAIN),
    ).toThrow(RangeError);
  });

  test('is never below and never a whole token above the exact product', () => {
    const count = fc.integer({ min: 0, max: 10_000_000 });
    const weight = fc.integer({ min: 0, max: 50_000_000 });
    fc.assert(
      fc.property(
        count,
        count,
        count,
        count,
        weight,
        weight,
        weight,
        weight,
        (input, output, cacheRead, cacheWrite, wi, wo, wr, ww) => {
          const charge = BigInt(
            chargeOf(
              { ...NO_USAGE, input, output, cacheRead, cacheWrite },
              {
                weight_input: wi,
                weight_output: wo,
                weight_cache_read: wr,
                weight_cache_write: ww,
              },
            ),
          );
          const exact =
            BigInt(input) * BigInt(wi) +
            BigInt(output) * BigInt(wo) +
            BigInt(cacheRead) * BigInt(wr) +
            BigInt(cacheWrite) * BigInt(ww);
          expect(charge * 1_000_000n >= exact && (charge - 1n) * 1_000_000n < exact).toBe(true);
        },
      ),
    );
  });
});

describe('a class with a parent', () => {
  const whole = fc.record(tokenFields(fc.nat(10_000_000))).map(usageOfFinal);
  const weights = fc.record({ ...weightFields(fc.nat(50_000_000), fc.constant(undefined)) });

  test("charges its parent's weight while it has none: no charge changes when its tokens are counted apart", () => {
    fc.assert(
      fc.property(whole, weights, (usage, price) => {
        const together = {
          ...usage,
          input: usage.input + usage.audioInput + usage.imageInput,
          output: usage.output + usage.audioOutput + usage.imageOutput,
          ...{ audioInput: 0, audioOutput: 0, imageInput: 0, imageOutput: 0 },
          cacheWrite: usage.cacheWrite + usage.cacheWrite1h,
          cacheWrite1h: 0,
        };
        expect(chargeOf(usage, price)).toBe(chargeOf(together, price));
      }),
    );
  });

  test('charges its own weight once it has one, 0 included', () => {
    const usage = { ...NO_USAGE, cacheWrite1h: 10, audioInput: 100, audioOutput: 1_000 };
    const price = { ...PLAIN, weight_cache_write: 1_250_000, weight_output: 4_000_000 };
    expect(chargeOf(usage, price)).toBe(Math.ceil(12.5) + 100 + 4_000);
    expect(
      chargeOf(usage, {
        ...price,
        weight_cache_write_1h: 2_000_000,
        weight_audio_input: 0,
        weight_audio_output: 8_000_000,
      }),
    ).toBe(20 + 0 + 8_000);
  });
});

describe('outputPaidBy', () => {
  test('is the most output that still costs no more', () => {
    const amount = fc.integer({ min: -10_000, max: 2 ** 32 });
    fc.assert(
      fc.property(
        amount,
        fc.integer({ min: 1, max: 50_000_000 }),
        (chargedTokens, weight_output) => {
          const paid = BigInt(outputPaidBy(chargedTokens, { ...PLAIN, weight_output }));
          const micros = BigInt(chargedTokens) * 1_000_000n;
          expect(
            paid * BigInt(weight_output) <= micros && (paid + 1n) * BigInt(weight_output) > micros,
          ).toBe(true);
        },
      ),
    );
  });

  test('has no end where output is free', () => {
    expect(outputPaidBy(0, { ...PLAIN, weight_output: 0 })).toBe(Infinity);
  });
});

test('charges an answer by the premiums that it names, and an answer without one by the plain price', () => {
  const price = { ...PLAIN, multipliers: { 'speed=fast': 2_500_000 } };
  expect(chargeOfFinal({ input_tokens: 10 }, price)).toBe(10);
  expect(chargeOfFinal({ input_tokens: 10, premiums: ['speed=fast'] }, price)).toBe(25);
});

test('the dearest weight is that of the side which is asked for', () => {
  const price = { ...PLAIN, weight_cache_read: 3_000_000, weight_output: 2_000_000 };
  expect(dearestWeight(price, 'prompt')).toBe(3_000_000);
  expect(dearestWeight(price, 'output')).toBe(2_000_000);
});

describe('priceInForce', () => {
  const prices = [{ effective_at: 100 }, { effective_at: 200 }];
  test('is the last version not after the moment', () => {
    expect(priceInForce(prices, 199)).toBe(prices[0]);
    expect(priceInForce(prices, 200)).toBe(prices[1]);
    expect(priceInForce(prices, 99)).toBeUndefined();
  });
});

test('a multiplier changes the weights of tokens that are set, and not the price of a call', () => {
  const price = { ...PLAIN, weight_cache_write_1h: 2_000_000, weight_searches: 10_000 };
  expect(mapWeights(price, (weight) => 2 * weight)).toEqual({
    weight_input: 2_000_000,
    weight_output: 2_000_000,
    weight_cache_read: 2_000_000,
    weight_cache_write: 2_000_000,
    weight_cache_write_1h: 4_000_000,
    weight_searches: 10_000,
  });
});
