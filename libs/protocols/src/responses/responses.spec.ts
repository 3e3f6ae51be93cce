import { describe, expect, test } from '@jest/globals';
import { drive, exchangeOf, jsonEvents } from '../../test/drive.ts';
import type { Loose } from '../../test/drive.ts';
import {
  toChat,
  toMessages,
  TOOLS,
  chunk,
  event,
  MESSAGES_STREAM,
  open,
} from '../../test/responses-client.ts';

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

  test('a call that the upstream gives no name has an empty one, streamed or whole', () => {
    const call = { type: 'tool_use', id: 'c1', input: { p: 1 } };
    const upstream =
      event('message_start', ',"message":{"id":"m","content":[],"usage":{}}') +
      event('content_block_start', `,"index":0,"content_block":${JSON.stringify(call)}`) +
      event('content_block_stop', ',"index":0') +
      event('message_delta', ',"delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}') +
      event('message_stop');
    const events = jsonEvents(drive(open('anthropic'), upstream).text);
    const named = events.flatMap(({ type, item, name }) =>
      type === 'response.function_call_arguments.done' ? [name] : item ? [item.name] : [],
    );
    expect(named).toEqual(['', '', '']);
    const whole = { id: 'm', type: 'message', content: [call], stop_reason: 'tool_use', usage: {} };
    const reading = exchangeOf('responses', 'anthropic', {
      model: 'alias',
      input: 'hi',
    }).readJson(Buffer.from(JSON.stringify(whole)));
    expect(JSON.parse(Buffer.from(reading.kind === 'answer' ? reading.body : '').toString()).output)
      // The member is there, as clients read it by its schema.
      .toMatchObject([{ type: 'function_call', name: '', arguments: '{"p":1}' }]);
  });

  test.each([toChat, toMessages])('a past call without a name is refused by its name', (send) => {
    const input = [{ type: 'function_call', call_id: 'c1', arguments: '{}' }];
    expect(() => send({ input })).toThrow('input[0].name: Field required');
    expect(() => send({ input: [{ ...input[0], type: 'custom_tool_call' }] })).toThrow(
      'input[0].name: Field required',
    );
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
