import { describe, expect, test } from '@jest/globals';
import { NO_USAGE } from '@tollgate/contracts';
import { drive, exchangeOf, jsonEvents, wireEvents } from '../../test/drive.ts';
import type { Exchange } from '../exchange.ts';

const ASK = {
  model: 'alias',
  stream: true,
  max_tokens: 100,
  messages: [{ role: 'user', content: 'hi' }],
};
const plain = (): Exchange => exchangeOf('messages', 'anthropic', ASK);

const event = (type: string, rest = ''): string =>
  `event: ${type}\ndata: {"type":"${type}"${rest}}   \n\n`;
const START = event(
  'message_start',
  ',"message":{"id":"msg_1","model":"upstream-model","content":[],"usage":{"input_tokens":5,"output_tokens":1}}',
);
const TEXT =
  event('content_block_start', ',"index":0,"content_block":{"type":"text","text":""}') +
  event('content_block_delta', ',"index":0,"delta":{"type":"text_delta","text":"hello"}');
const CLOSE =
  event('content_block_stop', ',"index":0') +
  event(
    'message_delta',
    ',"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":50,"output_tokens":9}',
  );
const STOP = event('message_stop');
const asAlias = (text: string): string =>
  text.replace('"model":"upstream-model"', '"model":"alias"');

describe('messages -> messages request', () => {
  test('behaviour 6: only the model value and a lowered limit change; big integers, order, escapes and signatures survive', () => {
    const source =
      '{"max_tokens":9000,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"\\u00e9","signature":"EqQB\\/+=="}]}],"x":9007199254740993,"model":"alias","thinking":{"type":"enabled","budget_tokens":8000}}';
    const sent = (overrides: object): string =>
      Buffer.from(exchangeOf('messages', 'anthropic', source, overrides).requestBody).toString();
    expect(sent({})).toBe(source.replace('"alias"', '"upstream-model"'));
    expect(sent({ outputLimit: 9_000 })).toBe(source.replace('"alias"', '"upstream-model"'));
    expect(sent({ outputLimit: 5_000 })).toBe(
      source
        .replace('"alias"', '"upstream-model"')
        .replace('"max_tokens":9000', '"max_tokens":5000')
        .replace('"budget_tokens":8000', '"budget_tokens":4999'),
    );
  });

  test('behaviour 2: version and betas are forwarded as they came', () => {
    const headers = {
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'a-2025-01-01,b-2026-01-01',
      authorization: 'Bearer secret',
      cookie: 'x',
    };
    expect(
      exchangeOf('messages', 'anthropic', ASK, { clientHeaders: headers }).requestHeaders,
    ).toEqual({ 'anthropic-version': '2026-10-21', 'anthropic-beta': 'a-2025-01-01,b-2026-01-01' });
    expect(plain().requestHeaders).toEqual({ 'anthropic-version': '2023-06-01' });
  });

  test('behaviour 5: the billing header block reaches an Anthropic upstream byte for byte', () => {
    const source =
      '{"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.329.a1b; cc_entrypoint=sdk-cli;"}],"max_tokens":1,"messages":[{"role":"user","content":"x"}],"model":"upstream-model"}';
    expect(Buffer.from(exchangeOf('messages', 'anthropic', source).requestBody).toString()).toBe(
      source,
    );
  });
});

describe('messages -> messages thinking', () => {
  const signed = '{"signature":"EqQB\\u002b\\/==", "type":"thinking","thinking":"\\u00e9"}';
  const unsigned = '{"type":"thinking","thinking":"hm","signature":""}';
  const foreign = '{"type":"thinking","thinking":"hm","signature":"not base64!"}';
  const use = '{"type":"tool_use","id":"t","name":"f","input":{"x":9007199254740993}}';
  const sent = (...assistant: string[]): string =>
    Buffer.from(
      exchangeOf('messages', 'anthropic', body(assistant), { upstreamModel: 'alias' }).requestBody,
    ).toString();
  const body = (assistant: string[]): string =>
    `{"max_tokens":1,"messages":[{"role":"user","content":"x"} , ${assistant.map((content) => `{"role":"assistant","content":[${content}]} , `).join('')}{"role":"user","content":"y"}],"model":"alias"}`;

  test('behaviour 29: genuine thinking is preserved byte for byte through a tool turn', () => {
    expect(sent(`${signed}, ${use}`)).toBe(body([`${signed}, ${use}`]));
  });

  test('behaviour 29: thinking with an empty or foreign signature is dropped before Anthropic, and nothing else', () => {
    expect(sent(`${unsigned}, ${signed}, ${use}`)).toBe(body([`${signed}, ${use}`]));
    expect(sent(`${signed}, ${foreign}, ${unsigned},${use}`)).toBe(body([`${signed}, ${use}`]));
    expect(sent(`${use}, ${unsigned}`)).toBe(body([use]));
    expect(sent(unsigned, use)).toBe(body([use]));
    expect(JSON.parse(sent(use, `${unsigned},${foreign}`)).messages).toHaveLength(3);
  });
});

describe('messages -> messages stream', () => {
  test("behaviour 7: unknown events, blocks and deltas pass; only message_start's model changes", () => {
    const unknown =
      event('content_block_start', ',"index":1,"content_block":{"type":"new"}') +
      event('content_block_delta', ',"index":1,"delta":{"type":"new_delta"}') +
      event('later', ',"x":9007199254740993');
    const upstream = START + event('ping') + TEXT + unknown + CLOSE + STOP;
    const { text, reader, generated } = drive(plain(), upstream, [3, 11]);
    expect(text).toBe(asAlias(upstream));
    expect([reader.state, generated]).toEqual(['finished', 'hello']);
  });

  test('an untouched part of the stream leaves as the very bytes that came', () => {
    const reader = plain().openStream({ output: () => undefined });
    const bytes = Buffer.from(event('ping') + TEXT);
    expect(reader.push(bytes).buffer).toBe(bytes.buffer);
  });

  test('behaviour 11: usage is message_start overridden by the last message_delta', () => {
    const { reader } = drive(plain(), START + TEXT + CLOSE + STOP);
    expect([reader.usage, reader.isUsageFinal]).toEqual([
      { ...NO_USAGE, input: 50, output: 9 },
      true,
    ]);
    const early = plain().openStream({ output: () => undefined });
    early.push(Buffer.from(START));
    expect([early.usage?.input, early.isUsageFinal]).toEqual([5, false]);
  });

  test('a message_delta never lowers what was reported, and one without an output figure does not end the count', () => {
    const delta = (usage: object): string =>
      event(
        'message_delta',
        `,"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":${JSON.stringify(usage)}`,
      );
    const readerOf = (...usages: object[]) =>
      drive(
        plain(),
        [START, TEXT, event('content_block_stop', ',"index":0'), ...usages.map(delta), STOP].join(
          '',
        ),
      ).reader;
    expect(readerOf({ input_tokens: 0, output_tokens: 9 }).usage).toEqual({
      ...NO_USAGE,
      input: 5,
      output: 9,
    });
    expect(readerOf({ output_tokens: 9 }, { output_tokens: 2 }).usage?.output).toBe(9);
    for (const silent of [{}, { input_tokens: 7 }, { output_tokens: null }, { output_tokens: -4 }])
      expect(readerOf(silent).isUsageFinal).toBe(false);
  });

  test('behaviour 16: no [DONE] reaches a messages client, and a missing message_stop is added', () => {
    expect(drive(plain(), START + TEXT + CLOSE + STOP + 'data: [DONE]\n\n').text).toBe(
      asAlias(START + TEXT + CLOSE + STOP),
    );
    expect(wireEvents(drive(plain(), START + TEXT + CLOSE).text).at(-1)).toEqual({
      name: 'message_stop',
      data: '{"type":"message_stop"}',
    });
  });

  test('behaviour 23: keep-alives are ping events', () => {
    expect(
      Buffer.from(
        plain()
          .openStream({ output: () => undefined })
          .keepAlive(),
      ).toString(),
    ).toBe('event: ping\ndata: {"type":"ping"}\n\n');
  });

  test.each([
    [
      'an error event',
      START +
        TEXT +
        'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded at host-7"}}\n\n',
      'overloaded_error',
    ],
    ['an end without stop reason', START + TEXT, 'api_error'],
    [
      'an event that is no JSON',
      START + TEXT + 'event: x\ndata: {\n\n' + CLOSE + STOP,
      'api_error',
    ],
  ])(
    'behaviour 24: %s ends the stream as an error event, without message_stop',
    (_, upstream, type) => {
      const { text, reader } = drive(plain(), upstream);
      expect(wireEvents(text).at(-1)?.name).toBe('error');
      expect(jsonEvents(text).at(-1)).toMatchObject({
        type: 'error',
        error: { type },
        request_id: expect.any(String),
      });
      expect(text).not.toMatch(/message_stop|host-7/);
      expect([reader.state, reader.hasContent]).toEqual(['failed', true]);
    },
  );

  test('behaviour 34: a JSON message to a stream request becomes a proper stream', () => {
    const content = [
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'text', text: 'hello' },
      { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } },
    ];
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'upstream-model',
      content,
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: { input_tokens: 5, output_tokens: 9 },
    };
    const { text, reader } = drive(plain(), JSON.stringify(message), [5]);
    const events = jsonEvents(text);
    expect(wireEvents(text).map(({ name }) => name)).toEqual(events.map(({ type }) => type));
    expect(events[0]).toMatchObject({
      message: { model: 'alias', content: [], usage: { input_tokens: 5, output_tokens: 0 } },
    });
    expect(
      events.filter(({ type }) => type === 'content_block_delta').map(({ delta }) => delta),
    ).toEqual([
      { type: 'thinking_delta', thinking: 'hm' },
      { type: 'signature_delta', signature: 'sig' },
      { type: 'text_delta', text: 'hello' },
      { type: 'input_json_delta', partial_json: '{"a":1}' },
    ]);
    expect(events.at(-2)).toMatchObject({
      delta: { stop_reason: 'tool_use' },
      usage: { output_tokens: 9 },
    });
    expect([reader.state, reader.usage?.output]).toEqual(['finished', 9]);
  });

  test('behaviour 25: a 200 with an error body is an error', () => {
    expect(
      plain().readJson(
        Buffer.from('{"type":"error","error":{"type":"rate_limit_error","message":"x"}}'),
      ),
    ).toMatchObject({ kind: 'error', error: { kind: 'rate_limited' } });
    expect(plain().readJson(Buffer.from('<html>'))).toMatchObject({
      kind: 'error',
      error: { kind: 'unreadable' },
    });
    expect(
      drive(plain(), '{"type":"error","error":{"type":"overloaded_error","message":"x"}}').reader
        .error?.kind,
    ).toBe('overloaded');
  });

  test('a stream the gateway must end closes its open block and says max_tokens', () => {
    const reader = plain().openStream({ output: () => undefined });
    reader.push(Buffer.from(START + TEXT));
    const text = Buffer.from(reader.finishEarly({ ...NO_USAGE, input: 5, output: 3 })).toString();
    expect(jsonEvents(text)).toMatchObject([
      { type: 'content_block_stop', index: 0 },
      { delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 3 } },
      { type: 'message_stop' },
    ]);
    const unstarted = plain().openStream({ output: () => undefined });
    expect(jsonEvents(Buffer.from(unstarted.finishEarly(NO_USAGE)).toString())[0]).toMatchObject({
      type: 'message_start',
      message: { model: 'alias', usage: { output_tokens: 0 } },
    });
  });

  test('says nothing after the gateway ended it', () => {
    const cut = plain().openStream({ output: () => undefined });
    cut.push(Buffer.from(START + TEXT));
    cut.finishEarly(NO_USAGE);
    expect(
      [cut.push(Buffer.from(CLOSE + STOP)), cut.end()].map(({ byteLength }) => byteLength),
    ).toEqual([0, 0]);
  });

  test.each(['messages', 'chat', 'responses'] as const)(
    "message_start's output figure is no report of the end for %s clients",
    (protocol) => {
      const exchange = exchangeOf(
        protocol,
        'anthropic',
        protocol === 'responses' ? { model: 'alias', stream: true, input: 'hi' } : ASK,
      );
      const silent = event(
        'message_delta',
        ',"delta":{"stop_reason":"end_turn","stop_sequence":null}',
      );
      const withoutReport = drive(
        exchange,
        START + TEXT + event('content_block_stop', ',"index":0') + silent + STOP,
      ).reader;
      expect([withoutReport.state, withoutReport.usage?.input, withoutReport.isUsageFinal]).toEqual(
        ['finished', 5, false],
      );
    },
  );
});
