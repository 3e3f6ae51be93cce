import { describe, expect, test } from '@jest/globals';
import { readChatUsage } from '../answers/openai/chat-usage.ts';
import { chat, usage } from '../../test/usage-figures.ts';

const details = (cached_tokens: number, reasoning_tokens: number, more: object = {}): object => ({
  prompt_tokens_details: { cached_tokens, ...more },
  completion_tokens_details: { reasoning_tokens },
});

describe('chat usage in normal form', () => {
  test.each([
    [
      'OpenAI with cache and reasoning',
      chat(100, 50, 150, details(30, 20)),
      usage(70, 30, 0, 50, 20),
    ],
    [
      'OpenAI with cache writes',
      chat(100, 50, 150, details(30, 0, { cache_write_tokens: 40 })),
      usage(30, 30, 40, 50, 0),
    ],
    [
      'behaviour 13: cached_tokens > prompt_tokens never yields a negative',
      chat(10, 213, 223, details(161, 0)),
      usage(10, 161, 0, 213, 0),
    ],
    [
      'behaviour 13: nor are the cached tokens of a template in front of the prompt charged, where the prompt is said to be all there was (Azure-Grok)',
      chat(10, 213, 223, details(161, 0, { text_tokens: 10, image_tokens: 0, audio_tokens: 0 })),
      usage(10, 0, 0, 213, 0),
    ],
    [
      'in a later turn too, whose own cached part is not known',
      chat(347, 18, 365, details(403, 0, { text_tokens: 347, image_tokens: 0, audio_tokens: 0 })),
      usage(347, 0, 0, 18, 0),
    ],
    [
      'with an image, which is a kind of its own',
      chat(265, 208, 473, details(270, 0, { text_tokens: 9, image_tokens: 256 })),
      { ...usage(9, 0, 0, 208, 0), imageInput: 256 },
    ],
    [
      'cached tokens that fit into the prompt are inside it',
      chat(219, 45, 264, details(159, 0, { text_tokens: 219, image_tokens: 0, audio_tokens: 0 })),
      usage(60, 159, 0, 45, 0),
    ],
    [
      'cached tokens that the total has are charged, whatever the kinds say',
      chat(10, 5, 31, details(16, 0, { text_tokens: 10 })),
      usage(10, 16, 0, 5, 0),
    ],
    [
      'cached tokens beside the prompt and in the total are not output',
      chat(10, 5, 31, details(16, 0)),
      usage(10, 16, 0, 5, 0),
    ],
    [
      'behaviour 14: xAI total=p+c+r bills c+r',
      chat(12, 2, 334, details(2, 320)),
      usage(10, 2, 0, 322, 320),
    ],
    [
      'behaviour 14: OpenAI total=p+c bills c',
      chat(12, 322, 334, details(2, 320)),
      usage(10, 2, 0, 322, 320),
    ],
    [
      'Mistral audio of the prompt only in the total',
      chat(9, 248, 632, details(0, 0, { audio_tokens: 375 })),
      { ...usage(9, 0, 0, 248, 0), audioInput: 375 },
    ],
    [
      'a rest of the total that nothing explains is not charged',
      chat(10, 5, 900),
      usage(10, 0, 0, 5, 0),
    ],
    [
      'DeepSeek cache hits',
      chat(348, 65, 413, { prompt_cache_hit_tokens: 256, prompt_cache_miss_tokens: 92 }),
      usage(92, 256, 0, 65, 0),
    ],
    ['Hugging Face cached_tokens', chat(19, 29, 48, { cached_tokens: 9 }), usage(10, 9, 0, 29, 0)],
    [
      'Mistral num_cached_tokens',
      chat(70, 12, 82, { num_cached_tokens: 69 }),
      usage(1, 69, 0, 12, 0),
    ],
    [
      "LiteLLM's names of both caches",
      chat(100, 5, 105, { cache_read_input_tokens: 60, cache_creation_input_tokens: 30 }),
      usage(10, 60, 30, 5, 0),
    ],
    [
      'reasoning above completion is only clamped',
      chat(10, 6000, 6010, details(0, 6001)),
      usage(10, 0, 0, 6000, 6000),
    ],
    [
      'an explicit 0 of either side',
      { prompt_tokens: 0, completion_tokens: 5 },
      usage(0, 0, 0, 5, 0),
    ],
    ['no total at all', { prompt_tokens: 8, completion_tokens: 2 }, usage(8, 0, 0, 2, 0)],
  ])('%s', (_, given, expected) => {
    expect(readChatUsage(given)).toEqual(expected);
  });

  test('Gemini-compatible: the rest is thoughts that are not named, whatever stands in front of the name of the model', () => {
    for (const model of ['gemini-2.5-pro', 'google/gemini-3-flash', 'models/gemini-2.5-pro'])
      expect(readChatUsage(chat(35, 12, 109), { model })).toEqual(usage(35, 0, 0, 74, 0));
    expect(readChatUsage(chat(35, 12, 109), { model: 'gpt-5' })).toEqual(usage(35, 0, 0, 12, 0));
  });

  test.each([
    ['the prompt missing', { completion_tokens: 5 }, [0, 5, 'prompt']],
    ['the prompt null', { prompt_tokens: null, completion_tokens: 5 }, [0, 5, 'prompt']],
    ['the prompt a text', { prompt_tokens: '5', completion_tokens: 5 }, [0, 5, 'prompt']],
    ['the prompt negative', chat(-1, 5, 4), [0, 5, 'prompt']],
    ['the prompt a fraction', chat(1.5, 5, 6), [0, 5, 'prompt']],
    ['the prompt no number', chat(Number.NaN, 5, 5), [0, 5, 'prompt']],
    ['the prompt beyond all counts', chat(1e300, 2, 3), [0, 2, 'prompt']],
    ['a broken part of the prompt', chat(1, 2, 3, details(-4, 0)), [0, 2, 'prompt']],
    ['the completion missing', { prompt_tokens: 10 }, [10, 0, 'output']],
    [
      'the completion missing, nothing more in the total',
      { prompt_tokens: 8, total_tokens: 8 },
      [8, 0, 'output'],
    ],
    ['a broken part of the completion', chat(1, 2, 3, details(0, -4)), [1, 0, 'output']],
    ['the prompt in the total', { completion_tokens: 5, total_tokens: 25 }, [20, 5, undefined]],
    ['the completion in the total', { prompt_tokens: 5, total_tokens: 25 }, [5, 20, undefined]],
    ['a total that cannot be true', chat(10, 5, -3), [10, 5, undefined]],
  ])('a side that is not reported is no side of 0: %s', (_, given, [input, output, unreported]) =>
    expect(readChatUsage(given)).toEqual({
      ...usage(Number(input), 0, 0, Number(output), 0),
      ...(unreported !== undefined && { unreported }),
    }),
  );

  test.each([[null], ['text'], [{}], [{ total_tokens: 50 }], [chat(-1, -5, 4)]])(
    'S27: %j is not trusted',
    (given) => expect(readChatUsage(given)).toBeNull(),
  );

  test('an answer at an ordinary tier says so, and one at a dearer tier or at none does not', () => {
    const of = (answer: object) => readChatUsage(chat(1, 2, 3), { ...answer })?.services;
    expect(of({ service_tier: 'default' })).toEqual(['service_tier=default']);
    expect([of({ service_tier: 'priority' }), of({})]).toEqual([undefined, undefined]);
  });
});
