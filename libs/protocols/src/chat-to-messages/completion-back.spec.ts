import { describe, expect, test } from '@jest/globals';
import { RID } from '../../test/drive.ts';
import { plain } from '../../test/message-pieces.ts';

describe('messages -> chat JSON', () => {
  test('text, thinking, tools, stop reason and usage', () => {
    const message = {
      id: 'msg_1',
      type: 'message',
      model: 'claude',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 's' },
        { type: 'text', text: 'a' },
        { type: 'server_tool_use', id: 's', name: 'w', input: {} },
        { type: 'text', text: 'b' },
        { type: 'tool_use', id: 't', name: 'f', input: { x: 1 } },
      ],
      stop_reason: 'tool_use',
      usage: {
        input_tokens: 1,
        cache_creation_input_tokens: 2,
        cache_read_input_tokens: 3,
        output_tokens: 4,
      },
    };
    const reading = plain().readJson(Buffer.from(JSON.stringify(message)));
    if (reading.kind !== 'answer') throw new Error('no answer');
    expect(JSON.parse(Buffer.from(reading.body).toString())).toEqual({
      id: `chatcmpl-${RID.replaceAll('-', '')}`,
      object: 'chat.completion',
      created: Math.floor(0x0193478e7c00 / 1000),
      model: 'alias',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'ab',
            refusal: null,
            reasoning_content: 'hm',
            thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 's' }],
            tool_calls: [
              { id: 't', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
            ],
          },
          logprobs: null,
          finish_reason: 'tool_calls',
        },
      ],
      usage: {
        prompt_tokens: 6,
        completion_tokens: 4,
        total_tokens: 10,
        prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
    });
    expect(reading).toMatchObject({
      usage: { input: 1, cacheWrite: 2, cacheRead: 3, output: 4 },
      outputText: 'hmaw{}bf{"x":1}',
    });
    expect(reading.kind === 'answer' && [reading.calls, reading.callArguments()]).toEqual([1, 1]);
  });
});
