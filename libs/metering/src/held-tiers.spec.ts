import { describe, expect, test } from '@jest/globals';
import { claimUnits, NO_USAGE } from '@tollgate/contracts';
import fc from 'fast-check';
import { ask, CHAT, holdRequest, MODELS, PLAIN } from '../test/hold-requests.ts';
import { chargeOf } from './charge.ts';
import { planHold } from './hold-plan.ts';

describe('the hold at a price with tiers', () => {
  test('takes the dearest tier that the prompt can reach, and none beyond', () => {
    const weights = { ...PLAIN, weight_input: 3_000_000, weight_output: 2_000_000 };
    const priceAbove = (above: number) => ({
      ...PLAIN,
      tiers: [{ above_prompt_tokens: above, weights }],
    });
    const request = { ask: ask({ outputLimit: 100 }), model: CHAT, upstreamModels: MODELS };
    const bound = planHold({ ...request, price: PLAIN }).coveredPromptTokens;
    expect(planHold({ ...request, price: priceAbove(bound) }).boundTokens).toBe(bound + 100);
    expect(planHold({ ...request, price: priceAbove(bound - 1) }).boundTokens).toBe(
      3 * bound + 200,
    );
  });

  test('has plain tokens for budgets that no charge in a tier within its reach falls short of', () => {
    fc.assert(
      fc.property(holdRequest, fc.nat(), fc.nat(), (request, promptDraw, outputDraw) => {
        const { bounds, plainTokens } = planHold(request);
        const input = promptDraw % (bounds.promptTokens + 1);
        const output = outputDraw % (bounds.outputTokens + 1);
        const charge = chargeOf({ ...NO_USAGE, input, output }, request.price);
        expect(claimUnits(plainTokens, charge)).toBeGreaterThanOrEqual(input + output);
      }),
      { numRuns: 1_000 },
    );
  });
});
