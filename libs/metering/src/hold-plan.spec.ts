import { NO_USAGE } from '@tollgate/contracts';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { chargeOf } from './charge.ts';
import { isPromptBounded, planHold } from './hold-plan.ts';
import { holdRequest, MODELS, PLAIN, CHAT, PROMPT, TERMS, ask } from '../test/hold-requests.ts';

describe('planHold', () => {
  test('holds a byte of text as a token, 16 for each message, and the default output of 4,096', () => {
    const plan = planHold({ ask: ask(), model: CHAT, ...TERMS });
    expect(plan).toMatchObject({
      promptBound: 164,
      outputLimit: 4096,
      wantTokens: 164 + 4096,
      minTokens: 165,
      boundTokens: 164 + 4096,
    });
  });

  test('counts for limits what the caller sends, without the words of the provider that its hold covers', () => {
    const sent = { estimate: 25 + 32, most: 100 + 32 };
    const plan = planHold({ ask: ask(), model: CHAT, ...TERMS });
    expect(plan).toMatchObject({ promptBound: sent.most + 32, promptTokens: sent });
    const foreign = planHold({ ask: ask(), model: CHAT, ...TERMS, upstreamModels: ['unheard-of'] });
    expect(foreign.promptTokens).toEqual(sent);
    expect(foreign.promptBound).toBeGreaterThan(plan.promptBound);
  });

  test('holds a stream for its prompt and one slice, and lets it grow to its bound', () => {
    const plan = planHold({
      ask: ask({ isStream: true, outputLimit: 100_000, choices: 2 }),
      model: CHAT,
      ...TERMS,
    });
    expect(plan).toMatchObject({
      wantTokens: 164 + 4096,
      sliceTokens: 4096,
      boundTokens: 164 + 200_000,
      minTokens: 166,
    });
  });

  test('clamps the output to the model and holds every choice', () => {
    const plan = planHold({
      ask: ask({ outputLimit: 1e9, choices: 3 }),
      model: { ...CHAT, max_output_tokens: 500 },
      ...TERMS,
    });
    expect(plan).toMatchObject({
      outputLimit: 500,
      wantTokens: 164 + 1500,
      bounds: { promptTokens: 164, outputTokens: 1500 },
    });
  });

  test('holds the dearest input class, whichever the upstream will use', () => {
    const price = { ...PLAIN, weight_cache_write: 1_250_000, weight_cache_read: 100_000 };
    expect(planHold({ ask: ask(), model: CHAT, price, upstreamModels: MODELS }).promptBound).toBe(
      205,
    );
  });

  test('adds the surcharge of the model for each input without a bound, at most what the context window reads', () => {
    const prompt = { ...PROMPT, unboundedInputs: 2 };
    const model = { ...CHAT, unbounded_input_tokens: 1000 };
    expect(planHold({ ask: ask({ prompt }), model, ...TERMS })).toMatchObject({
      promptBound: 2164,
      besideTextTokens: 2064,
    });
    expect(
      planHold({
        ask: ask({ prompt }),
        model: { ...model, context_window: 1_500 },
        ...TERMS,
      }),
    ).toMatchObject({ promptBound: 1_500, besideTextTokens: 1_400 });
  });

  test('holds the whole context window once for inputs without a bound, and once more for each round of a tool of the provider (S26b)', () => {
    const model = { ...CHAT, context_window: 200_000 };
    const held = (change: object): number =>
      planHold({
        ask: ask({ prompt: { ...PROMPT, ...change } }),
        model,
        ...TERMS,
      }).promptBound;
    expect(held({})).toBe(164);
    expect(held({ unboundedInputs: 1 })).toBe(200_000);
    expect(held({ unboundedInputs: 5 })).toBe(200_000);
    expect(held({ serverToolUses: 3 })).toBe(800_000);
  });

  test('holds the prompt once more where the provider may shorten the conversation first', () => {
    const model = { ...CHAT, context_window: 10_000 };
    const prompt = { ...PROMPT, compactions: 1 };
    expect(planHold({ ask: ask({ prompt }), model, ...TERMS })).toMatchObject({
      promptBound: 328,
      bounds: { promptTokens: 328 },
    });
  });

  test('holds the window twice for each round of a tool of the provider where each may be shortened first', () => {
    const model = { ...CHAT, context_window: 10_000 };
    const prompt = { ...PROMPT, compactions: 1, serverToolUses: 3 };
    expect(planHold({ ask: ask({ prompt }), model, ...TERMS })).toMatchObject({
      promptBound: 80_000,
      bounds: { promptTokens: 80_000 },
    });
  });

  test('knows whether a prompt can be bounded at all', () => {
    const bounded = (change: object, model: object): boolean =>
      isPromptBounded({
        ask: ask({ prompt: { ...PROMPT, ...change } }),
        model: { ...CHAT, ...model },
      });
    expect(bounded({}, {})).toBe(true);
    for (const change of [{ unboundedInputs: 1 }, { serverToolUses: 1 }]) {
      expect(bounded(change, {})).toBe(false);
      expect(bounded(change, { context_window: 10 })).toBe(true);
      expect(bounded(change, { unbounded_input_tokens: 0 })).toBe(true);
    }
  });

  test('holds other bytes as a token each, and predicted output as output', () => {
    expect(
      planHold({
        ask: ask({ prompt: { ...PROMPT, otherBytes: 50 } }),
        model: CHAT,
        ...TERMS,
      }),
    ).toMatchObject({ promptBound: 214 });
    const price = { ...PLAIN, weight_output: 5_000_000 };
    const prompt = { ...PROMPT, predictedBytes: 10 };
    expect(
      planHold({ ask: ask({ prompt }), model: CHAT, price, upstreamModels: MODELS }),
    ).toMatchObject({
      promptBound: 214,
      bounds: { outputTokens: 4_106 },
    });
  });

  test('a compaction, whose upstream is given no limit, is held for to its end or not asked for', () => {
    const compaction = ask({ isCompaction: true, outputLimit: Number.MAX_SAFE_INTEGER });
    const model = { ...CHAT, context_window: 10_000 };
    expect(planHold({ ask: compaction, model, ...TERMS })).toMatchObject({
      wantTokens: 164 + 10_000,
      minTokens: 164 + 10_000,
    });
    expect(
      planHold({
        ask: compaction,
        model: { ...model, max_output_tokens: 500 },
        ...TERMS,
      }),
    ).toMatchObject({ minTokens: 164 + 500 });
  });

  test('a request without a limit gets the default of its model', () => {
    const model = { ...CHAT, default_output_tokens: 700 };
    expect(planHold({ ask: ask(), model, ...TERMS }).outputLimit).toBe(700);
    expect(planHold({ ask: ask({ outputLimit: 900 }), model, ...TERMS }).outputLimit).toBe(900);
    expect(
      planHold({
        ask: ask(),
        model: { ...model, max_output_tokens: 50 },
        ...TERMS,
      }).outputLimit,
    ).toBe(50);
  });

  test('holds no output for embeddings and none for an output limit of 0', () => {
    expect(
      planHold({
        ask: ask(),
        model: { ...CHAT, kind: 'embedding' },
        ...TERMS,
      }),
    ).toMatchObject({ wantTokens: 164, minTokens: 164, outputLimit: 0 });
    expect(planHold({ ask: ask({ outputLimit: 0 }), model: CHAT, ...TERMS })).toMatchObject({
      wantTokens: 164,
      minTokens: 164,
    });
  });

  test('takes the exact count of the text where it is known', () => {
    expect(
      planHold({
        ask: ask(),
        model: CHAT,
        ...TERMS,
        exactTextTokens: 20,
      }).promptBound,
    ).toBe(84);
  });

  test('saturates instead of losing bits', () => {
    const plan = planHold({
      ask: ask({ outputLimit: Number.MAX_SAFE_INTEGER, choices: 100 }),
      model: CHAT,
      price: { ...PLAIN, weight_output: 9_000_000 },
      upstreamModels: MODELS,
    });
    expect(plan.wantTokens).toBe(Number.MAX_SAFE_INTEGER);
  });

  test('is never below the charge of a request that stayed within its bounds', () => {
    fc.assert(
      fc.property(
        holdRequest,
        fc.array(fc.nat(1_000_000), { minLength: 4, maxLength: 4 }),
        (request, draw) => {
          const plan = planHold(request);
          const prompt = plan.bounds.promptTokens ?? 0;
          const read = prompt === 0 ? 0 : (draw[0] ?? 0) % (prompt + 1);
          const write = prompt - read === 0 ? 0 : (draw[1] ?? 0) % (prompt - read + 1);
          const input = prompt - read - write;
          const output =
            plan.bounds.outputTokens === 0 ? 0 : (draw[2] ?? 0) % (plan.bounds.outputTokens + 1);
          expect(
            chargeOf(
              {
                ...NO_USAGE,
                input,
                cacheRead: read,
                cacheWrite: write,
                output,
                ...plan.bounds.calls,
              },
              request.price,
            ),
          ).toBeLessThanOrEqual(plan.boundTokens);
        },
      ),
    );
  });

  test('takes the dearest class of the prompt and of the output', () => {
    fc.assert(
      fc.property(
        holdRequest,
        fc.nat(50_000_000),
        fc.nat(50_000_000),
        (request, audioInput, audioOutput) => {
          const { price } = request;
          const dearer = {
            ...price,
            weight_input: Math.max(price.weight_input, audioInput),
            weight_output: Math.max(price.weight_output, audioOutput),
          };
          const withAudio = {
            ...price,
            weight_audio_input: audioInput,
            weight_audio_output: audioOutput,
          };
          expect(planHold({ ...request, price: withAudio })).toEqual({
            ...planHold({ ...request, price: dearer }),
            plainTokens: expect.anything(),
          });
        },
      ),
    );
  });

  test('orders its amounts and keeps them integers', () => {
    fc.assert(
      fc.property(holdRequest, (request) => {
        const { promptBound, minTokens, wantTokens, boundTokens, sliceTokens, outputLimit } =
          planHold(request);
        expect(
          [promptBound, minTokens, wantTokens, boundTokens, sliceTokens, outputLimit].every(
            (amount) => Number.isSafeInteger(amount) && amount >= 0,
          ),
        ).toBe(true);
        expect(
          promptBound <= minTokens && minTokens <= wantTokens && wantTokens <= boundTokens,
        ).toBe(true);
      }),
    );
  });

  test('never holds less for more text, more output or more choices', () => {
    fc.assert(
      fc.property(holdRequest, fc.nat(1000), (request, more) => {
        const { prompt } = request.ask;
        const wider: typeof request = {
          ...request,
          ask: {
            ...request.ask,
            outputLimit: (request.ask.outputLimit ?? 4096) + more,
            choices: request.ask.choices + (more % 3),
            prompt: { ...prompt, textBytes: prompt.textBytes + more },
          },
        };
        expect(planHold(wider).wantTokens).toBeGreaterThanOrEqual(planHold(request).wantTokens);
        expect(planHold(wider).minTokens).toBeGreaterThanOrEqual(planHold(request).minTokens);
      }),
    );
  });
});
