import { describe, expect, test } from '@jest/globals';
import { NO_USAGE, tokenFields, USAGE_KEYS, usageOfFinal } from '@tollgate/contracts';
import fc from 'fast-check';
import { chargeOf } from './charge.ts';
import {
  isOutputBelowText,
  isOutputWorthACount,
  judgeUsage,
  heldFactor,
  overrunOf,
  type UsageBounds,
} from './credibility.ts';

const BOUNDS: UsageBounds = {
  promptTokens: 2_000,
  contextTokens: null,
  readsMore: false,
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
        });
    },
  );

  test('9,999 + 9,999 tokens for a short prompt and a limit of 200 are not believed', () => {
    const short = { ...BOUNDS, promptTokens: 60 };
    expect(judgeUsage({ ...NO_USAGE, input: 9_999, output: 9_999 }, short)).toMatchObject({
      isPromptCredible: false,
      doubt: 'prompt_beyond_bound',
    });
    expect(judgeUsage({ ...NO_USAGE, input: 60, output: 9_999 }, short)).toMatchObject({
      isPromptCredible: true,
      doubt: 'output_beyond_limit',
    });
  });

  test('lets a provider add text of its own to a small prompt, in any class of input', () => {
    const small = { ...BOUNDS, promptTokens: 20 };
    expect(judgeUsage({ ...NO_USAGE, input: 500, cacheRead: 520 }, small)).toMatchObject({
      isPromptCredible: true,
      doubt: null,
    });
    expect(judgeUsage({ ...NO_USAGE, input: 501, cacheRead: 520 }, small).isPromptCredible).toBe(
      false,
    );
  });

  test('a prompt of which part is elsewhere is bounded by the context window alone', () => {
    const elsewhere = { ...BOUNDS, promptTokens: null };
    const reports = (input: number, bounds: UsageBounds) =>
      judgeUsage({ ...NO_USAGE, input }, bounds).isPromptCredible;
    expect(reports(900_000, elsewhere)).toBe(true);
    expect(reports(900_000, { ...elsewhere, contextTokens: 200_000 })).toBe(false);
    expect(reports(200_000, { ...elsewhere, contextTokens: 200_000 })).toBe(true);
  });

  test('a model that reads more than it was sent is believed up to ten of its windows', () => {
    const searching = { ...BOUNDS, contextTokens: 100_000, readsMore: true };
    const reports = (input: number) =>
      judgeUsage({ ...NO_USAGE, input }, searching).isPromptCredible;
    expect([reports(90_000), reports(1_000_000), reports(1_000_001)]).toEqual([true, true, false]);
    expect(judgeUsage({ ...NO_USAGE, input: 90_000 }, BOUNDS).isPromptCredible).toBe(false);
  });

  test('a prompt figure far below the text that was sent is a matter for the operator, and charged as reported', () => {
    const long = { ...BOUNDS, promptTokens: 400_000, promptTextBytes: 400_000 };
    expect(judgeUsage({ ...NO_USAGE, input: 5, output: 1 }, long)).toMatchObject({
      usage: { input: 5 },
      isPromptCredible: true,
      doubt: 'prompt_below_text',
    });
    expect(judgeUsage({ ...NO_USAGE, input: 100_000, output: 1 }, long).doubt).toBeNull();
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
          const { usage, isPromptCredible } = judgeUsage(reported, BOUNDS);
          if (usage && isPromptCredible) expect(chargeOf(usage, PLAIN)).toBeGreaterThanOrEqual(0);
        },
      ),
    );
  });
});

test('a report above its limit by a count or two is no overrun', () => {
  for (const output of [200, 201, 226]) expect(overrunOf(output, 200)).toBeNull();
  expect(overrunOf(2_000, 200)).toEqual({ factor: 10, tokens: 1_800 });
  expect(overrunOf(100, 0)).toEqual({ factor: 100, tokens: 100 });
});

test('a hold covers the overrun that was seen, and an answer to a tiny limit does not multiply a large one', () => {
  const seen = { factor: 2_000, tokens: 1_999 };
  expect(heldFactor(seen, 1)).toBe(2_000);
  expect(heldFactor(seen, 4_000)).toBe(2);
  expect(heldFactor({ factor: 2, tokens: 100_000 }, 4_000)).toBe(2);
});

test('text is counted against a report only where the report is far too small for it', () => {
  expect(isOutputWorthACount(1_000, 8_000)).toBe(false);
  expect(isOutputWorthACount(5, 5_000_000)).toBe(true);
  expect([isOutputBelowText(100, 464), isOutputBelowText(100, 465)]).toEqual([false, true]);
});
