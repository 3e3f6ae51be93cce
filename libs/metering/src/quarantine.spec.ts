import { describe, expect, test } from '@jest/globals';
import { NO_USAGE } from '@tollgate/contracts';
import fc from 'fast-check';
import { chargeOf } from './charge.ts';
import { quarantine } from './quarantine.ts';

const BOUNDS = { promptTokens: 2_000, outputTokens: 4_096 };
const PLAIN = {
  weight_input: 1_000_000,
  weight_output: 1_000_000,
  weight_cache_read: 1_000_000,
  weight_cache_write: 1_000_000,
};

describe('quarantine', () => {
  test.each([-1, Number.NaN, 0.5, Number.POSITIVE_INFINITY, 2 ** 53])(
    'bills nothing from a report of %p tokens',
    (broken) => {
      for (const field of ['input', 'cacheRead', 'cacheWrite', 'output', 'reasoning'] as const) {
        expect(quarantine({ ...NO_USAGE, [field]: broken }, BOUNDS)).toEqual({
          kind: 'quarantined',
          reason: 'not_a_count',
        });
      }
    },
  );

  test('bills nothing from a report over ten times the bound', () => {
    expect(quarantine({ ...NO_USAGE, input: 15_000, cacheRead: 5_001 }, BOUNDS)).toEqual({
      kind: 'quarantined',
      reason: 'prompt_beyond_bound',
    });
    expect(quarantine({ ...NO_USAGE, output: 40_961 }, BOUNDS)).toEqual({
      kind: 'quarantined',
      reason: 'output_beyond_bound',
    });
    expect(quarantine({ ...NO_USAGE, input: 20_000, output: 40_960 }, BOUNDS).kind).toBe(
      'accepted',
    );
  });

  test('lets a provider add its own text to a tiny prompt', () => {
    expect(
      quarantine({ ...NO_USAGE, input: 900 }, { promptTokens: 20, outputTokens: 5 }).kind,
    ).toBe('accepted');
  });

  test('cannot judge a prompt whose inputs have no bound', () => {
    expect(
      quarantine({ ...NO_USAGE, input: 900_000 }, { promptTokens: null, outputTokens: 5 }).kind,
    ).toBe('accepted');
  });

  test('cuts reasoning to the output it is part of', () => {
    expect(quarantine({ ...NO_USAGE, output: 6_000, reasoning: 6_001 }, BOUNDS)).toEqual({
      kind: 'accepted',
      usage: { ...NO_USAGE, output: 6_000, reasoning: 6_000 },
    });
  });

  test('accepts only what can be charged exactly', () => {
    const count = fc.oneof(fc.double(), fc.integer(), fc.maxSafeInteger());
    fc.assert(
      fc.property(
        count,
        count,
        count,
        count,
        count,
        (input, cacheRead, cacheWrite, output, reasoning) => {
          const judged = quarantine({ input, cacheRead, cacheWrite, output, reasoning }, BOUNDS);
          if (judged.kind === 'accepted')
            expect(chargeOf(judged.usage, PLAIN)).toBeGreaterThanOrEqual(0);
        },
      ),
    );
  });
});
