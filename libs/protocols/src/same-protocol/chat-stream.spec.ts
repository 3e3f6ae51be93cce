import { describe, expect, test } from '@jest/globals';
import { NO_USAGE } from '@tollgate/contracts';
import fc from 'fast-check';
import { drive, exchangeOf, jsonEvents, RID, wireEvents } from '../../test/drive.ts';
import { upstreamError } from '../errors/upstream-error.ts';
import type { Exchange } from '../exchange.ts';

const ASK = { model: 'alias', stream: true, messages: [{ role: 'user', content: 'hi' }] };
const plain = (): Exchange => exchangeOf('chat', 'openai', ASK);
const withUsage = (): Exchange =>
  exchangeOf('chat', 'openai', { ...ASK, stream_options: { include_usage: true } });

const USAGE = '{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}';
const chunk = (choices: string, rest = ''): string =>
  `data: {"id":"c1","object":"chat.completion.chunk","created":9,"model":"upstream-model","choices":${choices}${rest}}\n\n`;
const delta = (inner: string, finish = 'null'): string =>
  `[{"index":0,"delta":${inner},"finish_reason":${finish}}]`;
const ROLE = chunk(delta('{"role":"assistant","content":""}'));
const HELLO = chunk(delta('{"content":"hello"}'));
const STOP = chunk(delta('{}', '"stop"'));
const DONE = 'data: [DONE]\n\n';
const asAlias = (text: string): string =>
  text.replaceAll('"model":"upstream-model"', '"model":"alias"');

describe('chat -> chat request', () => {
  const body = (exchange: Exchange): string => Buffer.from(exchange.requestBody).toString('utf8');

  test('behaviour 6: only the model value, the output limit and the usage request change', () => {
    const source =
      '{ "seed":9007199254740993, "model" : "alias","messages":[{"role":"user","content":"\\u00e9"}] ,"x":{"model":"alias"}}';
    expect(body(exchangeOf('chat', 'openai', source))).toBe(
      source.replace('"alias"', '"upstream-model"'),
    );
    expect(
      body(
        exchangeOf('chat', 'openai', source, {
          upstreamModel: 'alias',
          outputLimit: 4096,
          outputLimitField: 'max_completion_tokens',
        }),
      ),
    ).toBe(source.replace(/}$/, ',"max_completion_tokens":4096}'));
  });

  test("behaviour 8: usage is asked for on streams, beside the client's own stream options", () => {
    expect(JSON.parse(body(plain()))).toMatchObject({ stream_options: { include_usage: true } });
    const obfuscation = exchangeOf('chat', 'openai', {
      ...ASK,
      stream_options: { include_obfuscation: false, include_usage: false },
    });
    expect(JSON.parse(body(obfuscation)).stream_options).toEqual({
      include_obfuscation: false,
      include_usage: true,
    });
    expect(body(exchangeOf('chat', 'openai', { ...ASK, stream: false }))).not.toContain(
      'stream_options',
    );
  });

  test('S26: a granted limit is written over every field that asks for more, and over no other', () => {
    const limited = (fields: object): unknown =>
      JSON.parse(
        body(
          exchangeOf(
            'chat',
            'openai',
            { model: 'm', messages: ASK.messages, ...fields },
            { outputLimit: 100, outputLimitField: 'max_tokens' },
          ),
        ),
      );
    expect(limited({ max_tokens: 10, max_completion_tokens: 65_536 })).toMatchObject({
      max_tokens: 10,
      max_completion_tokens: 100,
    });
    expect(limited({ max_completion_tokens: 50 })).not.toHaveProperty('max_tokens');
    expect(limited({ max_tokens: null })).toMatchObject({ max_tokens: 100 });
  });
});

describe('chat -> chat stream', () => {
  test('an upstream that needs no change leaves as the very bytes that came', () => {
    const same = exchangeOf(
      'chat',
      'openai',
      { ...ASK, stream_options: { include_usage: true } },
      { upstreamModel: 'alias' },
    );
    const reader = same.openStream({ output: () => undefined });
    const bytes = Buffer.from(asAlias(ROLE + HELLO));
    const out = reader.push(bytes);
    expect(out.buffer).toBe(bytes.buffer);
    expect(Buffer.from(out)).toEqual(bytes);
  });

  test('role appears once, also where the upstream says it in every chunk or in none', () => {
    for (const role of ['"role":"assistant",', '']) {
      const said = ['a', 'b', 'c'].map((text) => chunk(delta(`{${role}"content":"${text}"}`)));
      const { text } = drive(plain(), said.join('') + STOP + DONE);
      const deltas = jsonEvents(text).map(({ choices }) => choices[0].delta);
      expect(deltas).toEqual([
        { role: 'assistant', content: 'a' },
        { content: 'b' },
        { content: 'c' },
        {},
      ]);
    }
  });

  test('whatever the chunks hold and however they are cut, each says what it said, under the alias and without usage', () => {
    const words = fc.string({
      unit: fc.constantFrom(
        'a',
        ' ',
        '"',
        '\\',
        '\n',
        'é',
        '🌤',
        '}',
        ',"usage":null',
        '"content":"',
      ),
    });
    const field = fc.constantFrom('content', 'reasoning_content', 'arguments');
    const oneChunk = fc
      .tuple(field, words, words, fc.boolean())
      .map(([name, said, padding, isPadded]) => {
        const inner =
          name === 'arguments'
            ? { tool_calls: [{ index: 0, function: { arguments: said } }] }
            : { [name]: said };
        return {
          id: 'c1',
          model: 'upstream-model',
          choices: [{ index: 0, delta: inner, finish_reason: null }],
          usage: null,
          ...(isPadded ? { obfuscation: padding } : {}),
        };
      });
    fc.assert(
      fc.property(
        fc.array(oneChunk, { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 5 }),
        fc.boolean(),
        (chunks, sizes, asksUsage) => {
          const upstream =
            ROLE +
            chunks.map((given) => `data: ${JSON.stringify(given)}\n\n`).join('') +
            STOP +
            DONE;
          const { text, generated } = drive(asksUsage ? withUsage() : plain(), upstream, sizes);
          const expected = chunks.map(({ usage, ...rest }) => ({
            ...rest,
            model: 'alias',
            ...(asksUsage ? { usage } : {}),
          }));
          expect(jsonEvents(text).slice(1, 1 + chunks.length)).toEqual(expected);
          const said = chunks.map(
            ({ choices }) =>
              (choices[0]?.delta.tool_calls?.[0]?.function.arguments ??
                Object.values(choices[0]?.delta ?? {})[0]) as string,
          );
          expect(generated).toBe(said.join(''));
        },
      ),
      { numRuns: 300 },
    );
  });

  test('behaviour 8: a client that did not ask for usage sees none, yet the reader has it', () => {
    const upstream =
      chunk(delta('{"role":"assistant","content":"hi"}'), ',"usage":null') +
      chunk(delta('{}', '"stop"'), ',"usage":null') +
      chunk('[]', `,"usage":${USAGE}`) +
      DONE;
    const { text, reader } = drive(plain(), upstream);
    expect(text).toBe(asAlias(chunk(delta('{"role":"assistant","content":"hi"}')) + STOP + DONE));
    expect(reader.usage).toEqual({ ...NO_USAGE, input: 5, output: 2 });
    expect([reader.isUsageFinal, reader.state]).toEqual([true, 'finished']);
  });

  const own = asAlias(chunk('[]', `,"usage":${USAGE}`));
  test.each([
    ['in a chunk of its own', ROLE + HELLO + STOP + chunk('[]', `,"usage":${USAGE}`) + DONE],
    ['with choices null', ROLE + HELLO + STOP + chunk('null', `,"usage":${USAGE}`) + DONE],
    [
      'on the finish chunk (DeepSeek, Mistral)',
      ROLE + HELLO + chunk(delta('{}', '"stop"'), `,"usage":${USAGE}`) + DONE,
    ],
    [
      'as x_groq',
      ROLE + HELLO + chunk(delta('{}', '"stop"'), `,"x_groq":{"usage":${USAGE}}`) + DONE,
    ],
    [
      'in every chunk (Perplexity)',
      chunk(
        delta('{"role":"assistant","content":"hello"}'),
        ',"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}',
      ) +
        chunk(delta('{}', '"stop"'), `,"usage":${USAGE}`) +
        DONE,
    ],
    ['before the finish', ROLE + HELLO + chunk('[]', `,"usage":${USAGE}`) + STOP + DONE],
    ['and no [DONE] follows', ROLE + HELLO + STOP + chunk('[]', `,"usage":${USAGE}`)],
  ])(
    'behaviours 9, 10: usage given %s is one chunk right before [DONE], counted once',
    (_, upstream) => {
      const { text, reader } = drive(withUsage(), upstream);
      const events = wireEvents(text);
      expect(events.at(-1)?.data).toBe('[DONE]');
      expect(JSON.parse(events.at(-2)?.data ?? '')).toEqual(JSON.parse(own.slice(6)));
      expect(
        events.filter(({ data }) => data.includes('"usage":{') && !data.includes('x_groq')),
      ).toHaveLength(1);
      expect(reader.usage).toEqual({ ...NO_USAGE, input: 5, output: 2 });
    },
  );

  test('behaviour 9: where the upstream reports no usage the client gets the charged usage', () => {
    const reader = withUsage().openStream({ output: () => undefined });
    reader.push(Buffer.from(ROLE + HELLO + STOP + DONE));
    const text = Buffer.from(reader.close({ ...NO_USAGE, input: 11, output: 3 })).toString();
    expect(jsonEvents(text).at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 11, completion_tokens: 3 },
    });
    expect(reader.usage).toBeNull();
  });

  test("behaviour 22: the first chunk has a role, and Azure's nameless first chunk gets the id and model of the rest", () => {
    const azure =
      'data: {"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{}]}\n\n';
    const events = jsonEvents(drive(plain(), azure + HELLO + STOP + DONE).text);
    expect(events[0]).toEqual({
      choices: [],
      created: 9,
      id: 'c1',
      model: 'alias',
      object: 'chat.completion.chunk',
      prompt_filter_results: [{}],
    });
    expect(events[1]).toMatchObject({
      choices: [{ delta: { content: 'hello', role: 'assistant' } }],
    });
    expect(new Set(events.map(({ id, created, model }) => `${id} ${created} ${model}`))).toEqual(
      new Set(['c1 9 alias']),
    );
  });

  test('behaviour 22: each of several choices gets its role once', () => {
    const both = chunk('[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}]');
    const [first, second] = jsonEvents(
      drive(plain(), both + both + chunk('[{"index":1,"delta":{},"finish_reason":"stop"}]') + DONE)
        .text,
    );
    expect(first).toMatchObject({
      choices: [{ delta: { role: 'assistant' } }, { delta: { role: 'assistant' } }],
    });
    expect(second).toEqual(JSON.parse(asAlias(both).slice(6)));
  });

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

  test('usage that cannot be true is not trusted', () => {
    const { reader } = drive(
      plain(),
      ROLE +
        HELLO +
        STOP +
        chunk('[]', ',"usage":{"prompt_tokens":-5,"completion_tokens":2,"total_tokens":-3}') +
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
