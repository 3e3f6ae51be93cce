import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { affordableOutput, affordableText, planHold } from './hold-plan.ts';
import { holdRequest, CHAT, TERMS, ask } from '../test/hold-requests.ts';

describe('affordableText', () => {
  test('is the longest prompt the amount admits, and not a token more', () => {
    fc.assert(
      fc.property(holdRequest, fc.nat(5_000_000), (request, amount) => {
        const tokens = affordableText(request, amount);
        const least = (exactTextTokens: number): number =>
          planHold({
            ...request,
            ask: {
              ...request.ask,
              prompt: { ...request.ask.prompt, textBytes: Number.MAX_SAFE_INTEGER },
            },
            exactTextTokens,
          }).minTokens;
        if (tokens === Infinity) expect(least(10 ** 12)).toBeLessThanOrEqual(amount);
        else if (tokens < 0) expect(least(0)).toBeGreaterThan(amount);
        else expect([least(tokens) <= amount, least(tokens + 1) <= amount]).toEqual([true, false]);
      }),
    );
  });
});

describe('affordableOutput', () => {
  test('is the whole limit for the whole grant and one token for the smallest', () => {
    const request = { ask: ask(), model: CHAT, ...TERMS };
    expect(affordableOutput(request, 164 + 4096)).toBe(4096);
    expect(affordableOutput(request, 165)).toBe(1);
    expect(affordableOutput(request, 10)).toBe(0);
  });

  test('gives the largest limit whose bound the grant covers', () => {
    fc.assert(
      fc.property(holdRequest, fc.nat(10_000_000), (request, extra) => {
        const grant = planHold(request).minTokens + extra;
        const limit = affordableOutput(request, grant);
        const boundOf = (outputLimit: number): number =>
          planHold({ ...request, ask: { ...request.ask, outputLimit } }).boundTokens;
        expect(boundOf(limit)).toBeLessThanOrEqual(grant);
        if (limit < planHold(request).outputLimit)
          expect(boundOf(limit + 1)).toBeGreaterThan(grant);
      }),
    );
  });
});

test('an upstream that overruns is held for by what it overran, JSON in full or not at all', () => {
  const overrun = { factor: 10, tokens: 900 };
  const request = {
    ask: ask({ outputLimit: 100 }),
    model: CHAT,
    ...TERMS,
    overrun,
  };
  expect(planHold(request)).toMatchObject({
    outputLimit: 100,
    wantTokens: 164 + 1_000,
    minTokens: 164 + 1_000,
    bounds: { outputTokens: 100 },
  });
  expect(planHold({ ...request, ask: ask({ outputLimit: 100, isStream: true }) })).toMatchObject({
    wantTokens: 164 + 1_000,
    minTokens: 164 + 10,
    sliceTokens: 1_000,
  });
  expect(planHold({ ...request, overrun: null }).wantTokens).toBe(164 + 100);
});
