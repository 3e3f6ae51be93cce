import { describe, expect, test } from '@jest/globals';
import { NO_OUTPUT, type OutputUsage } from '@tollgate/contracts';
import {
  NO_USAGE,
  promptTokensOf,
  tokenFields,
  USAGE_KEYS,
  USAGE_ROWS,
  usageOfFinal,
} from '@tollgate/contracts';
import fc from 'fast-check';
import { chargeOf } from './charge.ts';
import {
  isOutputBelowText,
  isOutputWorthACount,
  judgeUsage,
  heldFactor,
  outputCeiling,
  overrunOf,
  type UsageBounds,
} from './credibility.ts';

const BOUNDS: UsageBounds = {
  promptTokens: 2_000,
  promptTextBytes: 1_500,
  outputTokens: 200,
};
const PLAIN = {
  weight_input: 1_000_000,
  weight_output: 1_000_000,
  weight_cache_read: 1_000_000,
  weight_cache_write: 1_000_000,
};

describe('judgeUsage', () => {
  test.each([-1, Number.NaN, 0.5, Number.POSITIVE_INFINITY, 2 ** 53])(
    'S27: bills nothing from a report of %p tokens',
    (broken) => {
      for (const field of USAGE_KEYS)
        expect(judgeUsage({ ...NO_USAGE, [field]: broken }, BOUNDS)).toMatchObject({
          usage: null,
          doubt: 'not_a_count',
          excessTokens: 0,
        });
    },
  );

  test.each([
    ['prompt', { input: Number.MAX_SAFE_INTEGER, cacheRead: 1 }],
    ['output', { output: Number.MAX_SAFE_INTEGER, audioOutput: 1 }],
  ])('bills nothing where the sum of one side alone is no count: %s', (_side, counts) => {
    expect(judgeUsage({ ...NO_USAGE, ...counts }, BOUNDS).doubt).toBe('not_a_count');
  });

  test('charges no more calls of a tool than were asked for, none that were not, and as many tokens', () => {
    const searched = (searches: number, asked: number | undefined) =>
      judgeUsage(
        { ...NO_USAGE, input: 7, output: 9, searches },
        { ...BOUNDS, calls: asked === undefined ? undefined : { searches: asked } },
      ).usage;
    for (const [reported, asked, charged] of [
      [3, 5, 3],
      [5, 5, 5],
      [6, 5, 5],
      [6, 0, 0],
      [6, undefined, 0],
    ] as const)
      expect(searched(reported, asked)).toMatchObject({ input: 7, output: 9, searches: charged });
  });

  test('charges the smaller of the prompt that is reported and its bound, whatever the classes, and says by how much it is exceeded', () => {
    const count = fc.integer({ min: 0, max: 100_000 });
    fc.assert(
      fc.property(fc.record(tokenFields(count)).map(usageOfFinal), count, (reported, bound) => {
        const { usage, excessTokens, doubt } = judgeUsage(reported, {
          ...BOUNDS,
          promptTokens: bound,
        });
        const prompt = promptTokensOf(reported);
        expect(promptTokensOf(usage ?? NO_USAGE)).toBe(Math.min(prompt, bound));
        expect(excessTokens).toBe(Math.max(0, prompt - bound));
        expect(doubt === 'prompt_beyond_bound').toBe(prompt > bound);
        for (const { key } of USAGE_ROWS)
          expect((usage ?? NO_USAGE)[key]).toBeLessThanOrEqual(reported[key]);
      }),
    );
  });

  test('takes what is above the bound from the last classes of the table first, and from plain input last', () => {
    const reported = { ...NO_USAGE, input: 900, cacheRead: 800, cacheWrite: 700, audioInput: 600 };
    expect(judgeUsage(reported, { ...BOUNDS, promptTokens: 1_000 }).usage).toEqual({
      ...NO_USAGE,
      input: 900,
      cacheRead: 100,
    });
  });

  test('a prompt figure far below the text that was sent is a matter for the operator, and charged as reported', () => {
    const long = { ...BOUNDS, promptTokens: 400_000, promptTextBytes: 400_000 };
    expect(judgeUsage({ ...NO_USAGE, input: 5, output: 1 }, long)).toMatchObject({
      usage: { input: 5 },
      doubt: 'prompt_below_text',
    });
    expect(judgeUsage({ ...NO_USAGE, input: 100_000, output: 1 }, long).doubt).toBeNull();
    // The bound is 16 bytes to a token, and 4,096 beside them.
    const sent = (promptTextBytes: number) =>
      judgeUsage({ ...NO_USAGE, input: 100 }, { ...BOUNDS, promptTextBytes }).doubt;
    expect([sent(5_696), sent(5_697)]).toEqual([null, 'prompt_below_text']);
  });

  test('an output beyond its limit is charged as reported, and a matter for the operator', () => {
    const generated = (output: number) => judgeUsage({ ...NO_USAGE, input: 100, output }, BOUNDS);
    expect(generated(226)).toMatchObject({ usage: { output: 226 }, doubt: null });
    expect(generated(227)).toMatchObject({ usage: { output: 227 }, doubt: 'output_beyond_limit' });
  });

  test('cuts reasoning to the output it is part of', () => {
    expect(judgeUsage({ ...NO_USAGE, output: 150, reasoning: 151 }, BOUNDS).usage).toEqual({
      ...NO_USAGE,
      output: 150,
      reasoning: 150,
    });
  });

  test('gives only what can be charged exactly', () => {
    const count = fc.oneof(fc.double(), fc.integer(), fc.maxSafeInteger());
    fc.assert(
      fc.property(
        fc
          .record({ ...tokenFields(count), output_tokens: fc.integer({ max: 1_000_000 }) })
          .map(usageOfFinal),
        (reported) => {
          const { usage } = judgeUsage(reported, BOUNDS);
          if (usage) expect(chargeOf(usage, PLAIN)).toBeGreaterThanOrEqual(0);
        },
      ),
    );
  });
});

const outputOf = (output: number): OutputUsage => ({ ...NO_OUTPUT, output });

test('of an overrun that a report alone shows a bounded number of tokens is believed; what was counted is believed in full', () => {
  const million = outputOf(15_000_000);
  expect(overrunOf({ reported: million, counted: outputOf(300) }, 300)).toMatchObject({
    tokens: 131_072,
  });
  expect(overrunOf({ reported: million, counted: million }, 300)).toMatchObject({
    tokens: 15_000_000 - 300,
  });
});

test('a report above its limit by a count or two is no overrun', () => {
  for (const counted of [200, 201, 226])
    expect(overrunOf({ counted: outputOf(counted) }, 200)).toBeNull();
  expect(overrunOf({ counted: outputOf(227) }, 200)).toEqual({ factor: 1.135, tokens: 27 });
  expect(overrunOf({ reported: outputOf(2_000), counted: outputOf(5) }, 200)).toEqual({
    factor: 10,
    tokens: 1_800,
  });
  expect(overrunOf({ counted: outputOf(100) }, 0)).toEqual({ factor: 100, tokens: 100 });
});

test('a hold covers the overrun that was seen, and an answer to a tiny limit does not multiply a large one', () => {
  const seen = { factor: 2_000, tokens: 1_999 };
  expect(heldFactor(seen, 1)).toBe(2_000);
  expect(heldFactor(seen, 4_000)).toBe(2);
  expect(heldFactor({ factor: 2, tokens: 100_000 }, 4_000)).toBe(2);
  expect(heldFactor({ factor: 50, tokens: 20 }, 0)).toBe(21);
  expect(outputCeiling(300)).toBe(1_624);
});

test('text is counted against a report only where the report is far too small for it', () => {
  expect([isOutputWorthACount(100, 1_312), isOutputWorthACount(100, 1_313)]).toEqual([false, true]);
  expect(isOutputWorthACount(5, 5_000_000)).toBe(true);
  expect([isOutputBelowText(100, 464), isOutputBelowText(100, 465)]).toEqual([false, true]);
});
