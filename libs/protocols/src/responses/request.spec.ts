import { describe, expect, test } from '@jest/globals';
import { exchangeOf } from '../../test/drive.ts';
import type { Loose } from '../../test/drive.ts';
import { InvalidRequest } from '../exchange.ts';
import { sent, toChat, toMessages, weather, TOOLS } from '../../test/responses-client.ts';

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
