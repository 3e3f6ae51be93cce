import { NO_USAGE } from '@tollgate/contracts';
import { describe, expect, test } from '@jest/globals';
import { drive, jsonEvents, RID, wireEvents } from '../../test/drive.ts';
import { CHAT_STREAM, MESSAGES_STREAM, open } from '../../test/responses-client.ts';

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
