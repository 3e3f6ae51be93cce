import { tokenFields, usageOfFinal, weightFields } from '@tollgate/contracts';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { chargeOf } from './charge.ts';
import { premiumWeights } from './premium-price.ts';

const PRICE = {
  weight_input: 1_000_000,
  weight_output: 4_000_001,
  weight_cache_read: 100_000,
  weight_cache_write: 0,
};
const MULTIPLIERS = { 'service_tier=priority': 1_750_000, 'speed=fast': 6_000_000 };

describe('premiumWeights', () => {
  test('multiplies every weight by every premium, rounded up', () => {
    expect(premiumWeights(PRICE, MULTIPLIERS, [])).toEqual(PRICE);
    expect(premiumWeights(PRICE, MULTIPLIERS, ['service_tier=priority', 'speed=fast'])).toEqual({
      weight_input: 10_500_000,
      weight_output: 42_000_012,
      weight_cache_read: 1_050_000,
      weight_cache_write: 0,
    });
  });

  test('has no price for what the version does not name', () => {
    for (const premium of ['service_tier=scale', 'constructor', '__proto__', ''])
      expect(() => premiumWeights(PRICE, MULTIPLIERS, [premium])).toThrow(RangeError);
  });

  test('refuses a product that is not exact', () => {
    const of = (weight_input: number, factor: number) =>
      premiumWeights({ ...PRICE, weight_input }, { x: factor }, ['x']).weight_input;
    expect(of(Number.MAX_SAFE_INTEGER, 1_000_000)).toBe(Number.MAX_SAFE_INTEGER);
    expect(() => of(Number.MAX_SAFE_INTEGER, 1_000_001)).toThrow('beyond the safe integers');
  });

  test('a multiplier of one or more never makes a request cheaper', () => {
    const count = fc.nat(1_000_000);
    const weight = fc.nat(20_000_000);
    fc.assert(
      fc.property(
        fc.record(weightFields(weight)),
        fc.record(tokenFields(count)).map(usageOfFinal),
        fc.integer({ min: 1_000_000, max: 50_000_000 }),
        (price, usage, factor) => {
          const dearer = premiumWeights(price, { 'speed=fast': factor }, ['speed=fast']);
          expect(chargeOf(usage, dearer)).toBeGreaterThanOrEqual(chargeOf(usage, price));
        },
      ),
    );
  });
});
