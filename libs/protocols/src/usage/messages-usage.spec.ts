import { describe, expect, test } from '@jest/globals';
import { mergeMessagesUsage, readMessagesUsage } from '../answers/anthropic/messages-usage.ts';
import { usage } from '../../test/usage-figures.ts';

describe('messages usage in normal form', () => {
  test('splits cache writes, excludes caches from input, counts thinking as part of output', () => {
    const given = {
      input_tokens: 6,
      cache_creation_input_tokens: 574,
      cache_read_input_tokens: 20_443,
      output_tokens: 489,
      output_tokens_details: { thinking_tokens: 77 },
    };
    expect(readMessagesUsage(given)).toEqual(usage(6, 20_443, 574, 489, 77));
    expect(
      readMessagesUsage({
        input_tokens: 1,
        output_tokens: 2,
        cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 },
      }),
    ).toEqual({ ...usage(1, 0, 3, 2, 0), cacheWrite1h: 4 });
  });

  test('a compaction of the conversation is charged beside the answer, whose figures leave it out', () => {
    const message = { type: 'message', input_tokens: 23_000, output_tokens: 1_000 };
    const compaction = {
      type: 'compaction',
      input_tokens: 150_000,
      cache_read_input_tokens: 30_000,
      output_tokens: 3_500,
    };
    expect(readMessagesUsage({ ...message, iterations: [compaction, message] })).toEqual(
      usage(173_000, 30_000, 0, 4_500, 0),
    );
    expect(readMessagesUsage({ ...message, iterations: [message] })).toEqual(
      usage(23_000, 0, 0, 1_000, 0),
    );
    expect(
      readMessagesUsage({ ...message, iterations: [{ ...compaction, input_tokens: -1 }] }),
    ).toEqual({ ...usage(0, 0, 0, 4_500, 0), unreported: 'prompt' });
  });

  test('the rounds of the answer itself, by whichever model, are in the figures at the top and not charged again', () => {
    const figures = { input_tokens: 10, output_tokens: 5 };
    for (const round of [{ type: 'message' }, { type: 'fallback_message', model: 'm' }, {}])
      expect(readMessagesUsage({ ...figures, iterations: [{ ...figures, ...round }] })).toEqual(
        usage(10, 0, 0, 5, 0),
      );
    expect(
      readMessagesUsage({ ...figures, iterations: [{ ...figures, type: 'advisor_message' }] }),
    ).toEqual(usage(20, 0, 0, 10, 0));
  });

  test("behaviour 11: a stream's usage is message_start overridden by every non-null field of message_delta, also when input grew", () => {
    const start = {
      input_tokens: 2,
      cache_creation_input_tokens: 3068,
      cache_read_input_tokens: 0,
      output_tokens: 69,
    };
    const delta = {
      input_tokens: 6,
      cache_creation_input_tokens: 3337,
      cache_read_input_tokens: 6289,
      output_tokens: 198,
      server_tool_use: null,
    };
    expect(readMessagesUsage(mergeMessagesUsage(start, delta))).toEqual(
      usage(6, 6289, 3337, 198, 0),
    );
    expect(
      readMessagesUsage(mergeMessagesUsage(start, { output_tokens: 5, input_tokens: null })),
    ).toEqual(usage(2, 0, 3068, 5, 0));
  });

  test('a side that is missing, or of which a figure cannot be true, is not reported', () => {
    const prompt = { ...usage(1, 0, 0, 0, 0), unreported: 'output' };
    const output = { ...usage(0, 0, 0, 2, 0), unreported: 'prompt' };
    for (const [given, expected] of [
      [{ input_tokens: 1 }, prompt],
      [{ input_tokens: 1, output_tokens: 0.5 }, prompt],
      [{ input_tokens: 1, output_tokens: '2' }, prompt],
      [{ output_tokens: 2 }, output],
      [{ input_tokens: null, output_tokens: 2 }, output],
      [{ input_tokens: -1, output_tokens: 2 }, output],
      [{ input_tokens: 1, cache_read_input_tokens: -1, output_tokens: 2 }, output],
      [null, null],
      [{}, null],
      [{ input_tokens: -1, output_tokens: '2' }, null],
    ])
      expect(readMessagesUsage(given)).toEqual(expected);
  });

  test('an answer at an ordinary speed and tier says so', () => {
    const given = { input_tokens: 1, output_tokens: 2, service_tier: 'standard', speed: 'fast' };
    expect(readMessagesUsage(given)?.services).toEqual(['service_tier=standard']);
  });
});
