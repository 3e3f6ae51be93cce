import { describe, expect, test } from '@jest/globals';
import { NO_USAGE } from '@tollgate/contracts';
import { drive, exchangeOf, jsonEvents, RID, wireEvents } from '../../test/drive.ts';
import { upstreamError } from '../errors/upstream-error.ts';
import {
  ASK,
  plain,
  withUsage,
  USAGE,
  chunk,
  delta,
  ROLE,
  HELLO,
  STOP,
  DONE,
} from '../../test/chat-chunks.ts';

describe('the end of a chat -> chat stream', () => {
  test('behaviour 23: keep-alives are comments, and a ping event of the upstream becomes one', () => {
    expect(
      Buffer.from(
        plain()
          .openStream({ output: () => undefined })
          .keepAlive(),
      ).toString(),
    ).toMatch(/^: .*\n\n$/);
    const { text } = drive(
      plain(),
      `: OPENROUTER PROCESSING\n\nevent: ping\ndata: {"type":"ping"}\n\n${ROLE}${HELLO}${STOP}${DONE}`,
    );
    expect(text.startsWith(': OPENROUTER PROCESSING\n\n: keep-alive\n\ndata: {"id"')).toBe(true);
  });

  test.each([
    [
      'an error event',
      ROLE + HELLO + 'data: {"error":{"message":"boom","type":"server_error"}}\n\n' + DONE,
    ],
    [
      'a named error event without [DONE] (Groq)',
      ROLE + HELLO + 'event: error\ndata: {"error":{"message":"boom"}}\n\n',
    ],
    [
      'an error beside choices and usage (OpenRouter)',
      ROLE +
        HELLO +
        chunk(delta('{}', '"error"'), `,"error":{"code":502,"message":"boom"},"usage":${USAGE}`) +
        DONE,
    ],
    ['an end without finish_reason', ROLE + HELLO],
    ['a chunk that is no JSON', ROLE + HELLO + 'data: {"id":\n\n' + STOP + DONE],
  ])('behaviour 24: %s ends the stream as an error, without finish or [DONE]', (_, upstream) => {
    const { text, reader } = drive(plain(), upstream);
    const events = wireEvents(text);
    expect(JSON.parse(events.at(-1)?.data ?? '')).toEqual({
      error: {
        message: expect.any(String),
        type: 'server_error',
        param: null,
        code: expect.any(String),
      },
    });
    expect(text).not.toMatch(/\[DONE\]|"finish_reason":"|boom/);
    expect([reader.state, reader.hasContent]).toEqual(['failed', true]);
    expect(reader.error?.kind).toMatch(/server|unreadable/);
  });

  test('behaviour 24: an end after finish_reason is an end, with or without [DONE], and the usage beside an error is kept', () => {
    expect(drive(plain(), ROLE + HELLO + STOP).text.endsWith(DONE)).toBe(true);
    expect(drive(plain(), ROLE + HELLO + STOP + 'data: [DONE]').text.endsWith(DONE)).toBe(true);
    const { reader } = drive(
      plain(),
      chunk(delta('{}', '"error"'), `,"error":{"code":502,"message":"boom"},"usage":${USAGE}`),
    );
    expect(reader.usage?.output).toBe(2);
    expect(reader.hasContent).toBe(false);
  });

  test('an error before any content can still be answered with a status: nothing else was said', () => {
    const { reader } = drive(plain(), 'data: {"error":{"code":429,"message":"slow"}}\n\n');
    expect([reader.error?.kind, reader.hasContent]).toEqual(['rate_limited', false]);
  });

  test('behaviour 34: a JSON answer to a stream request becomes a proper stream', () => {
    const call = { id: 't1', type: 'function', function: { name: 'f', arguments: '{}' } };
    const completion = {
      id: 'c1',
      object: 'chat.completion',
      created: 9,
      model: 'upstream-model',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'hello', tool_calls: [call] },
          finish_reason: 'tool_calls',
        },
      ],
      usage: JSON.parse(USAGE),
    };
    const { text, reader, generated } = drive(withUsage(), JSON.stringify(completion), [7]);
    const [first, finish, usage] = jsonEvents(text);
    expect(first).toMatchObject({
      id: 'c1',
      model: 'alias',
      object: 'chat.completion.chunk',
      choices: [
        { delta: { role: 'assistant', content: 'hello', tool_calls: [{ index: 0, ...call }] } },
      ],
    });
    expect(finish).toMatchObject({ choices: [{ finish_reason: 'tool_calls' }] });
    expect(usage).toMatchObject({ choices: [], usage: { prompt_tokens: 5 } });
    expect(text.endsWith(DONE)).toBe(true);
    expect([reader.state, generated]).toEqual(['finished', 'hellof{}']);
  });

  test.each([
    ['{"error":{"message":"filtered","code":"content_filter"}}', 'invalid_request'],
    ['{"detail":"nope"}', 'server'],
    ['<html>gateway</html>', 'unreadable'],
    ['{"broken', 'unreadable'],
    ['{}', 'server'],
    ['', 'unreadable'],
  ])('behaviours 25, 34: %s instead of a stream is an error', (body, kind) => {
    const { text, reader } = drive(plain(), body);
    expect(reader).toMatchObject({ state: 'failed', hasContent: false, error: { kind } });
    expect(jsonEvents(text)).toHaveLength(1);
  });

  test('a stream the gateway must end looks like one that reached its limit', () => {
    const reader = withUsage().openStream({ output: () => undefined });
    reader.push(Buffer.from(ROLE + HELLO));
    const text = Buffer.from(reader.finishEarly({ ...NO_USAGE, input: 4, output: 1 })).toString();
    expect(jsonEvents(text)).toMatchObject([
      { id: 'c1', choices: [{ index: 0, finish_reason: 'length' }] },
      { choices: [], usage: { prompt_tokens: 4, completion_tokens: 1 } },
    ]);
    expect(text.endsWith(DONE)).toBe(true);
    expect(Buffer.from(reader.push(Buffer.from(HELLO))).length).toBe(0);
    expect(Buffer.from(reader.end()).length).toBe(0);
  });

  test('a stream that is ended before its first chunk still says who speaks', () => {
    for (const upstreamProtocol of ['openai', 'anthropic'] as const) {
      const bytes = exchangeOf('chat', upstreamProtocol, ASK)
        .openStream({ output: () => undefined })
        .finishEarly(NO_USAGE);
      expect(jsonEvents(Buffer.from(bytes).toString())).toMatchObject([
        { model: 'alias', choices: [{ delta: { role: 'assistant' }, finish_reason: 'length' }] },
      ]);
    }
  });

  test('a failure the gateway reports is an error event and nothing after it', () => {
    const reader = plain().openStream({ output: () => undefined });
    reader.push(Buffer.from(ROLE));
    expect(jsonEvents(Buffer.from(reader.fail(upstreamError('timeout'))).toString())).toMatchObject(
      [{ error: { code: 'timeout' } }],
    );
    expect(Buffer.from(reader.end()).length).toBe(0);
    expect(reader.error?.kind).toBe('timeout');
  });

  test('a later report of a stream never lowers an earlier one, and is not mixed with it', () => {
    const report = (figures: object): string => chunk('[]', `,"usage":${JSON.stringify(figures)}`);
    const usageOf = (...reports: object[]) =>
      drive(plain(), [ROLE, HELLO, STOP, ...reports.map(report), DONE].join('')).reader.usage;
    const first = { prompt_tokens: 100, completion_tokens: 50 };
    expect(usageOf(first, { prompt_tokens: 0, completion_tokens: 2 })).toEqual({
      ...NO_USAGE,
      input: 100,
      output: 50,
    });
    expect(usageOf(first, { prompt_tokens: -1 })).toMatchObject({ input: 100, output: 50 });
    expect(usageOf({ prompt_tokens: 100 }, { completion_tokens: 5 })).toEqual({
      ...NO_USAGE,
      input: 100,
      output: 5,
    });
    const cached = { prompt_tokens_details: { cached_tokens: 80 } };
    expect(usageOf(first, { ...first, ...cached })).toMatchObject({ input: 20, cacheRead: 80 });
  });

  test('usage that cannot be true is not trusted', () => {
    const { reader } = drive(
      plain(),
      ROLE +
        HELLO +
        STOP +
        chunk('[]', ',"usage":{"prompt_tokens":-5,"completion_tokens":-2,"total_tokens":-7}') +
        DONE,
    );
    expect([reader.usage, reader.isUsageFinal, reader.state]).toEqual([null, false, 'finished']);
  });

  test('made-up ids and times come from the request id alone', () => {
    const [only] = jsonEvents(
      drive(
        plain(),
        'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}\n\n' +
          DONE,
      ).text,
    );
    expect(only).toMatchObject({
      id: `chatcmpl-${RID.replaceAll('-', '')}`,
      created: Math.floor(0x0193478e7c00 / 1000),
      model: 'alias',
    });
  });
});
