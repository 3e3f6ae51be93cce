import { NO_USAGE } from '@tollgate/contracts';
import { describe, expect, test } from '@jest/globals';
import { drive, exchangeOf, jsonEvents, RID, wireEvents } from '../../test/drive.ts';
import type { Loose } from '../../test/drive.ts';
import { InvalidRequest } from '../exchange.ts';
import type { Exchange } from '../exchange.ts';

const sent = (exchange: Exchange): Loose =>
  JSON.parse(Buffer.from(exchange.requestBody).toString());
const toChat = (body: object, upstreamModel = 'gpt-5'): Loose =>
  sent(
    exchangeOf('responses', 'openai', { model: 'alias', input: 'hi', ...body }, { upstreamModel }),
  );
const toMessages = (body: object, upstreamModel = 'claude-opus-4-6'): Loose =>
  sent(
    exchangeOf(
      'responses',
      'anthropic',
      { model: 'alias', input: 'hi', ...body },
      { upstreamModel },
    ),
  );

const weather = {
  type: 'function',
  name: 'weather',
  description: 'd',
  parameters: { type: 'object' },
  strict: true,
};
const patch = {
  type: 'custom',
  name: 'apply_patch',
  description: 'free text',
  format: { type: 'grammar' },
};
const mcp = {
  type: 'namespace',
  name: 'mcp__files',
  description: 'x',
  tools: [{ type: 'function', name: 'read', parameters: { type: 'object' } }],
};
const TOOLS = [weather, patch, mcp];

describe('/v1/responses request', () => {
  test("a text becomes a chat question, with the limit in the route's field", () => {
    expect(
      toChat({
        instructions: 'be brief',
        max_output_tokens: 50,
        temperature: 0.5,
        store: false,
        include: ['reasoning.encrypted_content'],
        prompt_cache_key: 'k',
        client_metadata: {},
      }),
    ).toEqual({
      model: 'gpt-5',
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'hi' },
      ],
      max_tokens: 50,
      temperature: 0.5,
    });
    expect(exchangeOf('responses', 'openai', { model: 'alias', input: 'hi' })).toMatchObject({
      path: '/chat/completions',
      requestHeaders: {},
    });
    expect(exchangeOf('responses', 'anthropic', { model: 'alias', input: 'hi' })).toMatchObject({
      path: '/messages',
      requestHeaders: { 'anthropic-version': '2023-06-01' },
    });
    expect(
      sent(
        exchangeOf(
          'responses',
          'openai',
          { model: 'alias', input: 'hi', max_output_tokens: 50 },
          { outputLimit: 20, outputLimitField: 'max_completion_tokens' },
        ),
      ),
    ).toMatchObject({ max_completion_tokens: 20 });
  });

  test('a tool turn of Codex becomes assistant calls and tool results, images of results behind them', () => {
    const input = [
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'rules' }] },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'look' },
          { type: 'input_image', image_url: 'data:image/png;base64,QUI=', detail: 'low' },
        ],
      },
      {
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'hm' }],
        encrypted_content: 'gAAAA-foreign',
      },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'on it' }] },
      {
        type: 'function_call',
        call_id: 'c1',
        name: 'read',
        namespace: 'mcp__files',
        arguments: '{"p":1}',
      },
      { type: 'custom_tool_call', call_id: 'c2', name: 'apply_patch', input: '*** Begin' },
      {
        type: 'function_call_output',
        call_id: 'c1',
        output: [
          { type: 'input_text', text: 'seen' },
          { type: 'input_image', image_url: 'https://x/y.png' },
        ],
      },
      { type: 'custom_tool_call_output', call_id: 'c2', output: 'done' },
    ];
    const calls = [
      { id: 'c1', type: 'function', function: { name: 'mcp__files__read', arguments: '{"p":1}' } },
      {
        id: 'c2',
        type: 'function',
        function: { name: 'apply_patch', arguments: '{"input":"*** Begin"}' },
      },
    ];
    expect(
      toChat({
        input,
        tools: TOOLS,
        tool_choice: 'auto',
        parallel_tool_calls: false,
        reasoning: { effort: 'high', summary: 'auto' },
        stream: true,
      }),
    ).toEqual({
      model: 'gpt-5',
      messages: [
        { role: 'system', content: 'rules' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'look' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,QUI=', detail: 'low' } },
          ],
        },
        { role: 'assistant', content: 'on it', tool_calls: calls },
        { role: 'tool', tool_call_id: 'c1', content: 'seen' },
        { role: 'tool', tool_call_id: 'c2', content: 'done' },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x/y.png' } }] },
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'd',
            parameters: { type: 'object' },
            strict: true,
          },
        },
        {
          type: 'function',
          function: {
            name: 'apply_patch',
            description: 'free text',
            parameters: {
              type: 'object',
              properties: { input: { type: 'string' } },
              required: ['input'],
              additionalProperties: false,
            },
          },
        },
        {
          type: 'function',
          function: { name: 'mcp__files__read', parameters: { type: 'object' } },
        },
      ],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      reasoning_effort: 'high',
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(toChat({ input }, 'deepseek-v4')).toHaveProperty('messages.2.reasoning_content', 'hm');
    expect(toMessages({ input, tools: TOOLS })).toMatchObject({
      system: [{ type: 'text', text: 'rules' }],
      messages: [
        { role: 'user' },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'on it' },
            { type: 'tool_use', id: 'c1', name: 'mcp__files__read', input: { p: 1 } },
            { type: 'tool_use', id: 'c2', input: { input: '*** Begin' } },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'c1',
              content: [{ type: 'text', text: 'seen' }, { type: 'image' }],
            },
            { type: 'tool_result', tool_use_id: 'c2' },
          ],
        },
      ],
    });
  });

  test('a tool loop of the AI SDK continues, though it refers to reasoning and text that were not stored', () => {
    const input = [
      { role: 'user', content: 'x' },
      { type: 'item_reference', id: 'rs_1' },
      { type: 'item_reference', id: 'msg_1' },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'y' },
    ];
    expect(toChat({ input }).messages.map(({ role }: Loose) => role)).toEqual([
      'user',
      'assistant',
      'tool',
    ]);
  });

  test('user items in a row become one user message, as many chat templates want', () => {
    const input = [
      { role: 'user', content: [{ type: 'input_text', text: 'a' }] },
      { role: 'user', content: 'b' },
      { role: 'developer', content: 'c' },
    ];
    expect(toChat({ input }).messages).toEqual([{ role: 'user', content: 'a\nb\nc' }]);
  });

  test('an assistant item behind a call joins it: results must follow the message of their calls', () => {
    const input = [
      { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{}' },
      { role: 'assistant', content: [{ type: 'output_text', text: 'wait' }] },
      { type: 'function_call', call_id: 'c2', name: 'weather', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: { degrees: 20 } },
    ];
    expect(toChat({ input }).messages).toEqual([
      {
        role: 'assistant',
        content: 'wait',
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{}' } },
          { id: 'c2', type: 'function', function: { name: 'weather', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: '{"degrees":20}' },
    ]);
  });

  test('a tool without a type is a function', () => {
    const { type: _, ...typeless } = weather;
    expect(toChat({ tools: [typeless] }).tools).toEqual(toChat({ tools: [weather] }).tools);
  });

  test('a JSON schema and tool choices', () => {
    const text = {
      format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true },
    };
    expect(toChat({ text })).toMatchObject({
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'n', schema: { type: 'object' }, strict: true },
      },
    });
    expect(toMessages({ text })).toMatchObject({
      output_config: { format: { type: 'json_schema', schema: { type: 'object' } } },
    });
    expect(
      toChat({ tools: TOOLS, tool_choice: { type: 'function', name: 'weather' } }),
    ).toMatchObject({ tool_choice: { type: 'function', function: { name: 'weather' } } });
    expect(
      toMessages({
        tools: TOOLS,
        tool_choice: {
          type: 'allowed_tools',
          mode: 'required',
          tools: [{ type: 'function', name: 'weather' }],
        },
      }),
    ).toMatchObject({ tools: [{ name: 'weather' }], tool_choice: { type: 'any' } });
  });

  test.each([
    [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ conversation: 'c' }, 'conversation'],
    [{ background: true }, 'background'],
    [{ tools: [{ type: 'file_search' }] }, 'tools[0].type'],
    [{ tools: [weather, { type: 'web_search' }] }, 'tools[1].type: a tool of type "web_search"'],
    [{ tools: [weather], tool_choice: { type: 'web_search' } }, 'tool_choice'],
    [
      {
        input: [
          { type: 'item_reference', id: 'msg_1' },
          { role: 'user', content: 'x' },
        ],
      },
      'input[0]',
    ],
    [{ input: [{ type: 'web_search_call', id: 'x' }] }, 'input[0].type'],
    [
      { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] },
      'input[0].content[0]',
    ],
  ])('%j is refused and names %s', (body, param) => {
    expect(() => toChat(body)).toThrow(InvalidRequest);
    expect(() => toChat(body)).toThrow(param);
  });
});

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const USAGE =
  'data: {"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":9,"total_tokens":17,"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":2}}}\n\n';
const CHAT_STREAM =
  chunk({ role: 'assistant', reasoning_content: 'hm' }) +
  chunk({ content: 'hel' }) +
  chunk({ content: 'lo' }) +
  chunk({
    tool_calls: [
      {
        index: 0,
        id: 'call|1',
        type: 'function',
        function: { name: 'mcp__files__read', arguments: '{"p":' },
      },
    ],
  }) +
  chunk({ tool_calls: [{ index: 0, function: { arguments: '1}' } }] }) +
  chunk({
    tool_calls: [
      {
        index: 1,
        id: 'c2',
        type: 'function',
        function: { name: 'apply_patch', arguments: '{"input":"*** Begin"}' },
      },
    ],
  }) +
  chunk({}, 'tool_calls') +
  USAGE +
  'data: [DONE]\n\n';

const event = (type: string, rest = ''): string =>
  `event: ${type}\ndata: {"type":"${type}"${rest}}\n\n`;
const MESSAGES_STREAM =
  event(
    'message_start',
    ',"message":{"id":"m","content":[],"usage":{"input_tokens":5,"cache_read_input_tokens":3,"output_tokens":1}}',
  ) +
  event(
    'content_block_start',
    ',"index":0,"content_block":{"type":"thinking","thinking":"","signature":""}',
  ) +
  event('content_block_delta', ',"index":0,"delta":{"type":"thinking_delta","thinking":"hm"}') +
  event(
    'content_block_delta',
    ',"index":0,"delta":{"type":"signature_delta","signature":"SIG=="}',
  ) +
  event('content_block_stop', ',"index":0') +
  event('content_block_start', ',"index":1,"content_block":{"type":"text","text":""}') +
  event('content_block_delta', ',"index":1,"delta":{"type":"text_delta","text":"hello"}') +
  event('content_block_stop', ',"index":1') +
  event(
    'content_block_start',
    ',"index":2,"content_block":{"type":"tool_use","id":"call|1","name":"mcp__files__read","input":{}}',
  ) +
  event(
    'content_block_delta',
    ',"index":2,"delta":{"type":"input_json_delta","partial_json":"{\\"p\\":1}"}',
  ) +
  event('content_block_stop', ',"index":2') +
  event(
    'content_block_start',
    ',"index":3,"content_block":{"type":"tool_use","id":"c2","name":"apply_patch","input":{}}',
  ) +
  event(
    'content_block_delta',
    ',"index":3,"delta":{"type":"input_json_delta","partial_json":"{\\"input\\":\\"*** Begin\\"}"}',
  ) +
  event('content_block_stop', ',"index":3') +
  event(
    'message_delta',
    ',"delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9,"output_tokens_details":{"thinking_tokens":2}}',
  ) +
  event('message_stop');

const open = (upstreamProtocol: 'openai' | 'anthropic'): Exchange =>
  exchangeOf('responses', upstreamProtocol, {
    model: 'alias',
    input: 'hi',
    stream: true,
    tools: TOOLS,
  });

describe.each([
  ['openai', CHAT_STREAM],
  ['anthropic', MESSAGES_STREAM],
] as const)('/v1/responses stream from an %s upstream', (upstreamProtocol, upstream) => {
  test('sends reasoning, text and calls as items, numbers every event, and ends with response.completed', () => {
    const { text, reader } = drive(open(upstreamProtocol), upstream, [5, 17]);
    const events = jsonEvents(text);
    expect(wireEvents(text).map(({ name }) => name)).toEqual(events.map(({ type }) => type));
    expect(events.map(({ sequence_number: at }) => at)).toEqual(events.map((_, at) => at));
    expect(events.slice(0, 2).map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
    ]);
    expect(events[0].response).toMatchObject({
      id: `resp_${RID.replaceAll('-', '')}`,
      object: 'response',
      status: 'in_progress',
      model: 'alias',
      store: false,
      output: [],
      usage: null,
    });

    const ends = events.filter(({ type }) => type === 'response.output_item.done');
    expect(ends.map(({ item, output_index: at }) => [at, item.type])).toEqual([
      [0, 'reasoning'],
      [1, 'message'],
      [2, 'function_call'],
      [3, 'custom_tool_call'],
    ]);
    expect(ends.map(({ item }) => item)).toMatchObject([
      { summary: [{ type: 'summary_text', text: 'hm' }] },
      {
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'hello', annotations: [] }],
      },
      {
        call_id: 'call|1',
        name: 'read',
        namespace: 'mcp__files',
        arguments: '{"p":1}',
        status: 'completed',
      },
      { call_id: 'c2', name: 'apply_patch', input: '*** Begin', status: 'completed' },
    ]);
    const said = (type: string): string =>
      events
        .filter((event) => event.type === type)
        .map(({ delta }) => delta)
        .join('');
    expect([
      said('response.output_text.delta'),
      said('response.reasoning_summary_text.delta'),
      said('response.function_call_arguments.delta'),
      said('response.custom_tool_call_input.delta'),
    ]).toEqual(['hello', 'hm', '{"p":1}', '*** Begin']);

    const last = events.at(-1);
    expect(last).toMatchObject({
      type: 'response.completed',
      response: {
        status: 'completed',
        usage: {
          input_tokens: 8,
          input_tokens_details: { cached_tokens: 3 },
          output_tokens: 9,
          output_tokens_details: { reasoning_tokens: 2 },
          total_tokens: 17,
        },
      },
    });
    expect(last.response.output).toEqual(ends.map(({ item }) => item));
    expect([reader.state, text.includes('[DONE]')]).toEqual(['finished', false]);
  });

  test('each item is opened, grown and closed in order, and never two at once', () => {
    const types = jsonEvents(drive(open(upstreamProtocol), upstream).text).map(({ type }) =>
      String(type).replace('response.', ''),
    );
    const runs = types.filter((type, at) => type !== types[at - 1]);
    expect(runs.slice(2)).toEqual([
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'output_item.added',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.done',
      'output_item.done',
      'completed',
    ]);
  });

  test('behaviour 24: a stream that breaks ends with response.failed, and no completion', () => {
    const { text, reader } = drive(
      open(upstreamProtocol),
      upstream.slice(0, upstream.indexOf('lo')),
    );
    expect(jsonEvents(text).at(-1)).toMatchObject({
      type: 'response.failed',
      response: {
        status: 'failed',
        error: { code: 'upstream_error', message: expect.any(String) },
      },
    });
    expect(text).not.toContain('response.completed');
    expect(reader.state).toBe('failed');
  });

  test('a stream the gateway must end is incomplete for max_output_tokens', () => {
    const reader = open(upstreamProtocol).openStream({ output: () => undefined });
    reader.push(Buffer.from(upstream.slice(0, upstream.indexOf('lo'))));
    const events = jsonEvents(
      Buffer.from(
        reader.finishEarly({ ...NO_USAGE, input: 5, cacheRead: 3, output: 1 }),
      ).toString(),
    );
    expect(events.at(-1)).toMatchObject({
      type: 'response.incomplete',
      response: {
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        usage: { output_tokens: 1 },
      },
    });
  });
});

describe('/v1/responses', () => {
  const deltasOf = (events: Loose[], type: string): string[] =>
    events.filter((item) => item.type === `response.${type}.delta`).map(({ delta }) => delta);

  test('a tool input that arrives whole in content_block_start is the arguments of the call, delta included', () => {
    const upstream =
      event('message_start', ',"message":{"id":"m","content":[],"usage":{"input_tokens":5}}') +
      event(
        'content_block_start',
        ',"index":0,"content_block":{"type":"tool_use","id":"c1","name":"weather","input":{"p":1}}',
      ) +
      event('content_block_stop', ',"index":0') +
      event(
        'content_block_start',
        ',"index":1,"content_block":{"type":"tool_use","id":"c2","name":"apply_patch","input":{"input":"*** Begin"}}',
      ) +
      event('content_block_stop', ',"index":1') +
      event('message_delta', ',"delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}') +
      event('message_stop');
    const { text, generated } = drive(open('anthropic'), upstream);
    const events = jsonEvents(text);
    expect(deltasOf(events, 'function_call_arguments')).toEqual(['{"p":1}']);
    expect(deltasOf(events, 'custom_tool_call_input')).toEqual(['*** Begin']);
    expect(events.at(-1).response.output).toMatchObject([
      { type: 'function_call', arguments: '{"p":1}' },
      { type: 'custom_tool_call', input: '*** Begin' },
    ]);
    expect(generated).toContain('{"p":1}');
  });

  test('a call without arguments has the delta {}, whatever the upstream speaks', () => {
    const call = { index: 0, id: 'c1', type: 'function', function: { name: 'weather' } };
    const streams = {
      openai: chunk({ tool_calls: [call] }) + chunk({}, 'tool_calls') + 'data: [DONE]\n\n',
      anthropic:
        event('message_start', ',"message":{"id":"m","content":[],"usage":{}}') +
        event(
          'content_block_start',
          ',"index":0,"content_block":{"type":"tool_use","id":"c1","name":"weather","input":{}}',
        ) +
        event('content_block_stop', ',"index":0') +
        event('message_delta', ',"delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}') +
        event('message_stop'),
    };
    for (const upstreamProtocol of ['openai', 'anthropic'] as const) {
      const events = jsonEvents(drive(open(upstreamProtocol), streams[upstreamProtocol]).text);
      expect(deltasOf(events, 'function_call_arguments')).toEqual(['{}']);
      expect(events.at(-1).response.output).toMatchObject([{ arguments: '{}', call_id: 'c1' }]);
    }
  });

  test('a refusal of a chat upstream is a refusal part, streamed or whole', () => {
    const stream =
      chunk({ role: 'assistant', content: '', refusal: 'Not ' }) +
      chunk({ refusal: 'this.' }) +
      chunk({}, 'stop') +
      'data: [DONE]\n\n';
    const events = jsonEvents(drive(open('openai'), stream).text);
    expect(deltasOf(events, 'refusal')).toEqual(['Not ', 'this.']);
    const part = { type: 'refusal', refusal: 'Not this.' };
    expect(events.at(-1).response.output).toMatchObject([{ type: 'message', content: [part] }]);
    const message = { role: 'assistant', content: null, refusal: 'Not this.' };
    const reading = exchangeOf('responses', 'openai', { model: 'alias', input: 'hi' }).readJson(
      Buffer.from(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] })),
    );
    const whole: Loose =
      reading.kind === 'answer' ? JSON.parse(Buffer.from(reading.body).toString()) : reading;
    expect(whole.output).toMatchObject([{ type: 'message', content: [part] }]);
    expect(whole.output).toHaveLength(1);
  });

  test("an Anthropic model's signed thinking goes through encrypted_content and returns as it was (behaviour 29)", () => {
    const { output } = jsonEvents(drive(open('anthropic'), MESSAGES_STREAM).text).at(-1).response;
    const input = [
      { role: 'user', content: 'hi' },
      ...output,
      { type: 'function_call_output', call_id: 'call|1', output: 'x' },
      { type: 'custom_tool_call_output', call_id: 'c2', output: 'y' },
    ];
    const [, assistant] = toMessages({ input, tools: TOOLS }).messages;
    expect(assistant.content[0]).toEqual({ type: 'thinking', thinking: 'hm', signature: 'SIG==' });
    expect(JSON.stringify(toChat({ input, tools: TOOLS }))).not.toContain('SIG');
    const foreign = output.map((item: Loose) =>
      item.type === 'reasoning' ? { ...item, encrypted_content: 'gAAAA' } : item,
    );
    expect(
      JSON.stringify(
        toMessages({
          input: [{ role: 'user', content: 'hi' }, ...foreign, ...input.slice(-2)],
          tools: TOOLS,
        }),
      ),
    ).not.toContain('thinking');
  });

  test('JSON answers of both upstreams are whole responses', () => {
    const ask = { model: 'alias', input: 'hi', tools: TOOLS };
    const message = {
      id: 'm',
      type: 'message',
      role: 'assistant',
      content: [
        { type: 'text', text: 'hello' },
        { type: 'tool_use', id: 'c2', name: 'apply_patch', input: { input: '*** Begin' } },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 8, output_tokens: 9 },
    };
    const completion = {
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'hello',
            tool_calls: [
              {
                id: 'c2',
                type: 'function',
                function: { name: 'apply_patch', arguments: '{"input":"*** Begin"}' },
              },
            ],
          },
          finish_reason: 'tool_calls',
        },
      ],
      usage: { prompt_tokens: 8, completion_tokens: 9, total_tokens: 17 },
    };
    const read = (upstreamProtocol: 'openai' | 'anthropic', answer: object): Loose => {
      const reading = exchangeOf('responses', upstreamProtocol, ask).readJson(
        Buffer.from(JSON.stringify(answer)),
      );
      return reading.kind === 'answer' ? JSON.parse(Buffer.from(reading.body).toString()) : reading;
    };
    expect(read('anthropic', message)).toEqual(read('openai', completion));
    expect(read('anthropic', message)).toMatchObject({
      object: 'response',
      status: 'completed',
      output: [
        { type: 'message', content: [{ text: 'hello' }] },
        { type: 'custom_tool_call', call_id: 'c2', input: '*** Begin' },
      ],
      usage: { input_tokens: 8, output_tokens: 9, total_tokens: 17 },
    });
    expect(
      read('anthropic', {
        ...message,
        content: [],
        stop_reason: 'refusal',
        stop_details: { explanation: 'Not this.' },
      }),
    ).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
      output: [{ content: [{ type: 'refusal', refusal: 'Not this.' }] }],
    });
    expect(read('openai', { error: { message: 'x' } }).kind).toBe('error');
  });

  test('long names of namespaces are cut to what upstreams take, and stay apart', () => {
    const long = {
      type: 'namespace',
      name: 'n'.repeat(60),
      tools: [
        { type: 'function', name: 'one_long_name' },
        { type: 'function', name: 'one_long_game' },
      ],
    };
    const names = toChat({ tools: [long] }).tools.map((tool: Loose) => tool.function.name);
    expect(new Set(names).size).toBe(2);
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });
});
