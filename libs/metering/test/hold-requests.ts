import fc from 'fast-check';
import type { HoldRequest } from '../src/hold-request.ts';

const weight = fc.integer({ min: 0, max: 20_000_000 });

const weights = fc.record({
  weight_input: weight,
  weight_output: weight,
  weight_cache_read: weight,
  weight_cache_write: weight,
  weight_searches: fc.integer({ min: 0, max: 9_000_000_000 }),
});
const tiers = fc
  .uniqueArray(fc.integer({ min: 1, max: 1_500_000 }), { minLength: 1, maxLength: 4 })
  .chain((thresholds) =>
    fc.tuple(
      ...thresholds
        .toSorted((a, b) => a - b)
        .map((above) => fc.record({ above_prompt_tokens: fc.constant(above), weights })),
    ),
  );

/** Half of the prices have tiers. */
export const price = fc
  .tuple(weights, fc.option(tiers, { nil: undefined }))
  .map(([own, longer]) => ({ ...own, ...(longer && { tiers: longer }) }));

export const holdRequest: fc.Arbitrary<HoldRequest> = fc.record({
  ask: fc.record({
    isStream: fc.boolean(),
    outputLimit: fc.option(fc.integer({ min: 0, max: 1_000_000 }), { nil: null }),
    choices: fc.integer({ min: 1, max: 8 }),
    prompt: fc.record({
      textBytes: fc.nat(1_000_000),
      messageCount: fc.nat(200),
      images: fc.array(
        fc.record({
          size: fc.option(
            fc.record({
              width: fc.integer({ min: 1, max: 9_000 }),
              height: fc.integer({ min: 1, max: 9_000 }),
            }),
            { nil: null },
          ),
          detail: fc.constantFrom('low' as const, 'high' as const, null),
        }),
        { maxLength: 5 },
      ),
      ownTools: fc.nat(3),
      vendorTools: fc.subarray(['bash', 'computer', 'memory', 'of_tomorrow']),
      unboundedInputs: fc.nat(3),
      serverToolUses: fc.nat(2),
      calls: fc.record({ searches: fc.nat(20) }),
      compactions: fc.nat(1),
      otherBytes: fc.nat(100),
      predictedBytes: fc.nat(100),
    }),
  }),
  model: fc.record({
    kind: fc.constantFrom('chat' as const, 'embedding' as const),
    max_output_tokens: fc.option(fc.integer({ min: 1, max: 200_000 }), { nil: null }),
    unbounded_input_tokens: fc.option(fc.nat(100_000), { nil: null }),
    context_window: fc.option(fc.integer({ min: 1, max: 400_000 }), { nil: null }),
    reads_more_than_sent: fc.boolean(),
  }),
  upstreamModels: fc.subarray(['claude-opus-5', 'gpt-4o-mini', 'grok-4', 'real-7']),
  price,
});

/** Names a model of a family that adds a template of 32. */
export const MODELS = ['gpt-4'];

export const PLAIN = {
  weight_input: 1_000_000,
  weight_output: 1_000_000,
  weight_cache_read: 1_000_000,
  weight_cache_write: 1_000_000,
};

/** Holds the terms of a plain request. */
export const TERMS = { price: PLAIN, upstreamModels: MODELS };

export const CHAT = {
  kind: 'chat' as const,
  context_window: null,
  max_output_tokens: null,
  unbounded_input_tokens: null,
};

export const PROMPT = {
  textBytes: 100,
  messageCount: 2,
  images: [],
  ownTools: 0,
  vendorTools: [],
  unboundedInputs: 0,
  serverToolUses: 0,
  otherBytes: 0,
  predictedBytes: 0,
};

export const ask = (change: Partial<HoldRequest['ask']> = {}): HoldRequest['ask'] => ({
  isStream: false,
  outputLimit: null,
  choices: 1,
  prompt: PROMPT,
  ...change,
});
