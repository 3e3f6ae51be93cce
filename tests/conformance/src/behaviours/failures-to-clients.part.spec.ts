import { describe, expect, test } from '@jest/globals';
import { createCustomer, subscribeWithKey } from '@tollgate/harness';
import type OpenAI from 'openai';
import type { Loose } from '../event-text.ts';
import {
  anthropic,
  chat,
  chatModel,
  claude,
  completion,
  gateway,
  HI,
  messages,
  openai,
  refused,
} from './client-behaviours-under-test.ts';

describe('what goes wrong', () => {
  test('behaviour 26: an upstream that refuses the gateway is a gateway error, and its names stay with the operator', async () => {
    chat.says(
      {
        error: {
          message: 'Incorrect API key provided: sk-of-the-operator-0123456789',
          type: 'invalid_request_error',
          code: 'invalid_api_key',
        },
      },
      401,
      {
        'openai-organization': 'org-secret',
        'x-request-id': 'req_upstream',
        'x-ratelimit-limit-requests': '7',
      },
    );
    const errorOf = (request: OpenAI.RequestOptions): Promise<Loose> =>
      openai()
        .chat.completions.create({ model: refused.name, messages: HI }, request)
        .then(
          () => null,
          (reason: Loose) => reason,
        );
    const first = await errorOf({ maxRetries: 0 });
    const whileItRests = await errorOf({ maxRetries: 0 });
    expect([first.status, whileItRests.status, chat.count]).toEqual([502, 503, 1]);
    for (const { error, headers } of [first, whileItRests])
      expect(JSON.stringify([error, [...headers]])).not.toMatch(
        /sk-of|org-secret|req_upstream|"7"/,
      );
  });

  test("behaviour 26: context overflow is worded for each protocol's clients", async () => {
    chat.says(
      {
        error: {
          message:
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
          type: 'invalid_request_error',
          code: 'context_length_exceeded',
        },
      },
      400,
    );
    await expect(
      anthropic().messages.create({ model: chatModel.name, max_tokens: 9, messages: HI }),
    ).rejects.toMatchObject({
      status: 400,
      error: {
        error: {
          type: 'invalid_request_error',
          message: 'prompt is too long: 9000 tokens > 8192 maximum',
        },
      },
    });
    messages.says(
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'prompt is too long: 9000 tokens > 8192 maximum',
        },
      },
      400,
    );
    await expect(
      openai().chat.completions.create({ model: claude.name, messages: HI }),
    ).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
  });

  test('behaviour 27: the SDKs do not retry an empty balance, and do retry an overloaded upstream', async () => {
    const poor = await createCustomer(gateway.tollgate);
    const key = await subscribeWithKey(poor, { modelIds: [chatModel.id], tokens: 1 });
    chat.says(completion);
    await expect(
      openai(key).chat.completions.create({ model: chatModel.name, messages: HI }),
    ).rejects.toMatchObject({
      status: 429,
      code: 'insufficient_quota',
      type: 'insufficient_quota',
    });
    await expect(
      anthropic(key).messages.create({ model: chatModel.name, max_tokens: 9, messages: HI }),
    ).rejects.toMatchObject({ status: 402, error: { error: { type: 'billing_error' } } });
    expect(chat.count).toBe(0);
    chat.says({ error: { message: 'busy', type: 'server_error' } }, 500);
    await expect(
      openai().chat.completions.create({ model: chatModel.name, messages: HI }),
    ).rejects.toMatchObject({ status: 502 });
    expect(chat.count).toBe(2);
  });
});
