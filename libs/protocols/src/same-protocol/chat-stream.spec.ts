import { NO_USAGE } from '@tollgate/contracts';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { drive, exchangeOf, jsonEvents, wireEvents } from '../../test/drive.ts';
import type { Exchange } from '../exchange.ts';
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
  asAlias,
} from '../../test/chat-chunks.ts';

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
          choices: [{ index: 0, delta: inner, finish_reason: null }],
          usage: null,
          ...(isPadded ? { obfuscation: padding } : {}),
        };
      });
    fc.assert(
      fc.property(
        fc.array(oneChunk, { maxLength: 12 }),
        // Small reads cut chunks; large ones bring several.
        fc.array(fc.oneof(fc.integer({ min: 1, max: 90 }), fc.constant(5_000)), {
          minLength: 1,
          maxLength: 5,
        }),
        fc.boolean(),
        // The names are shorter and longer than the alias.
        fc.constantFrom('upstream-model', 'm'),
        (chunks, sizes, asksUsage, model) => {
          const upstream =
            ROLE +
            chunks.map((given) => `data: ${JSON.stringify({ model, ...given })}\n\n`).join('') +
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

  test('chunks without an id each get one, once, also where they equal each other but for their text', () => {
    const said = ['a', 'b', 'c', 'd'].map((text) =>
      chunk(delta(`{"content":"${text}"}`)).replace('"id":"c1",', ''),
    );
    const { text } = drive(plain(), said.join('') + STOP + DONE);
    const chunks = text.split('\n\n').slice(0, said.length);
    expect(chunks.map((event) => event.match(/"id":/g)?.length)).toEqual([1, 1, 1, 1]);
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
});

test('behaviour 25: an answer without a choice is an error, whole as in a stream', () => {
  const usage = '"usage":{"prompt_tokens":1,"completion_tokens":0,"total_tokens":1}';
  const whole = Buffer.from(`{"id":"c1","object":"chat.completion","choices":[],${usage}}`);
  expect(plain().readJson(whole)).toMatchObject({ kind: 'error', error: { kind: 'unreadable' } });
  const { reader } = drive(plain(), `data: {"id":"c1","choices":[],${usage}}\n\n${DONE}`);
  expect([reader.state, reader.error?.kind]).toEqual(['failed', 'unreadable']);
});
