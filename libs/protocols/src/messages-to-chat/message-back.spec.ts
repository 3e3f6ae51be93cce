import { describe, expect, test } from '@jest/globals';
import { RID } from '../../test/drive.ts';
import { plain } from '../../test/chat-pieces.ts';

describe('chat -> messages JSON', () => {
  test('thinking, text, tools, stop reason and usage', () => {
    const message = {
      role: 'assistant',
      content: 'hello',
      reasoning: 'hm',
      tool_calls: [
        { id: 'call|1', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
        { id: 'b', function: { name: 'g', arguments: '{"cut' } },
      ],
    };
    const reading = plain().readJson(
      Buffer.from(
        JSON.stringify({
          id: 'c',
          choices: [{ index: 0, message, finish_reason: 'stop' }],
          usage: {
            prompt_tokens: 8,
            completion_tokens: 2,
            total_tokens: 10,
            prompt_tokens_details: { cached_tokens: 3 },
          },
        }),
      ),
    );
    if (reading.kind !== 'answer') throw new Error('no answer');
    expect(JSON.parse(Buffer.from(reading.body).toString())).toEqual({
      id: `msg_${RID.replaceAll('-', '')}`,
      type: 'message',
      role: 'assistant',
      model: 'alias',
      content: [
        { type: 'thinking', thinking: 'hm', signature: '' },
        { type: 'text', text: 'hello' },
        { type: 'tool_use', id: expect.stringMatching(/^tgx_/), name: 'f', input: { x: 1 } },
        { type: 'tool_use', id: 'b', name: 'g', input: {} },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: {
        input_tokens: 5,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 3,
        output_tokens: 2,
      },
    });
  });

  test('behaviour 25: a 200 without an answer is an error', () => {
    for (const body of [
      '{"error":{"message":"x"}}',
      '{"choices":[]}',
      '{"detail":"x"}',
      'nope',
      '',
    ])
      expect(plain().readJson(Buffer.from(body)).kind).toBe('error');
  });
});
