import { describe, expect, test } from '@jest/globals';
import { looseJson } from '../event-text.ts';
import {
  anthropic,
  chat,
  chatModel,
  chunk,
  claude,
  completion,
  END,
  gateway,
  HI,
  message,
  messages,
  openai,
  post,
} from './client-behaviours-under-test.ts';

describe('who asks, and how', () => {
  test('behaviours 1, 32, 33: both SDKs and both key headers reach every endpoint, with ?beta=true', async () => {
    chat.says(completion);
    messages.says(message);
    await openai().chat.completions.create({ model: chatModel.name, messages: HI });
    await anthropic().messages.create({ model: claude.name, max_tokens: 9, messages: HI });
    expect((await openai().models.list()).data.map(({ id }) => id)).toContain(claude.name);
    expect((await anthropic().models.list()).data.map(({ id }) => id)).toContain(chatModel.name);
    const counts = await Promise.all(
      Array.from({ length: 25 }, () =>
        anthropic().messages.countTokens({ model: claude.name, messages: HI }),
      ),
    );
    expect(new Set(counts.map(({ input_tokens }) => input_tokens)).size).toBe(1);
    for (const keys of [
      { authorization: '', 'x-api-key': gateway.apiKey },
      { authorization: 'Bearer wrong', 'x-api-key': gateway.apiKey },
      { 'x-api-key': 'wrong' },
    ]) {
      expect(
        (
          await post(
            '/v1/messages?beta=true',
            { model: claude.name, max_tokens: 9, messages: HI },
            keys,
          )
        ).status,
      ).toBe(200);
    }
  });

  test('behaviour 2: both anthropic versions go up as they came, and so do betas', async () => {
    messages.says(message);
    for (const version of ['2026-10-21', '2023-06-01']) {
      await post(
        '/v1/messages',
        { model: claude.name, max_tokens: 9, messages: HI },
        { 'anthropic-version': version, 'anthropic-beta': 'a-1,b-2' },
      );
      expect([
        messages.last.headers['anthropic-version'],
        messages.last.headers['anthropic-beta'],
      ]).toEqual([version, 'a-1,b-2']);
    }
  });

  test("behaviour 3: answers, streams and errors carry both request ids, and an error's is theirs", async () => {
    chat.streams(chunk({ role: 'assistant', content: 'x' }) + chunk({}, 'stop') + END);
    const answers = [
      await post('/v1/chat/completions', { model: chatModel.name, stream: true, messages: HI }),
      await post('/v1/messages', { model: 'none', max_tokens: 1, messages: HI }),
      await post('/v1/chat/completions', { model: chatModel.name }),
    ];
    for (const { headers } of answers)
      expect([headers.get('x-request-id'), headers.get('request-id')]).toEqual([
        expect.stringMatching(/^[0-9a-f-]{36}$/),
        headers.get('x-request-id'),
      ]);
    expect(looseJson((await answers[1]?.text()) ?? '').request_id).toBe(
      answers[1]?.headers.get('request-id'),
    );
  });
});
