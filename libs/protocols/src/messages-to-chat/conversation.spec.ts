import { describe, expect, test } from '@jest/globals';
import { HI, translated, use, toolCall, image, imageUrl } from '../../test/messages-asks.ts';
import type { JsonRecord } from '../json/json-guard.ts';

describe('messages -> chat request: the conversation becomes', () => {
  test.each<[string, JsonRecord, JsonRecord]>([
    [
      'a system text',
      { system: 'be brief' },
      { messages: [{ role: 'system', content: 'be brief' }, HI] },
    ],
    [
      'assistant turns in a row: one message, so that results follow all of their calls',
      {
        messages: [
          HI,
          { role: 'assistant', content: [{ type: 'text', text: 'a' }, use('toolu_1')] },
          { role: 'assistant', content: [{ type: 'text', text: 'b' }, use('toolu_2')] },
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: 'toolu_1', content: { degrees: 20 } },
              { type: 'tool_result', tool_use_id: 'toolu_2', content: 'x' },
            ],
          },
        ],
      },
      {
        messages: [
          HI,
          {
            role: 'assistant',
            content: 'a\nb',
            tool_calls: [toolCall('toolu_1'), toolCall('toolu_2')],
          },
          { role: 'tool', tool_call_id: 'toolu_1', content: '{"degrees":20}' },
          { role: 'tool', tool_call_id: 'toolu_2', content: 'x' },
        ],
      },
    ],
    [
      "behaviour 4: role system inside messages: its text, as the user's",
      {
        messages: [
          HI,
          {
            role: 'system',
            content: [{ type: 'text', text: 'now' }],
            output_config: { effort: 'low' },
          },
        ],
      },
      { messages: [{ role: 'user', content: 'hi\nnow' }] },
    ],
    [
      'images',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'see' },
              image,
              { type: 'image', source: { type: 'url', url: 'https://x/y.png' } },
            ],
          },
        ],
      },
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'see' },
              imageUrl,
              { type: 'image_url', image_url: { url: 'https://x/y.png' } },
            ],
          },
        ],
      },
    ],
    [
      'documents',
      {
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'document',
                title: 'T',
                source: { type: 'text', media_type: 'text/plain', data: 'body' },
              },
              {
                type: 'document',
                source: { type: 'base64', media_type: 'application/pdf', data: 'QUI=' },
              },
            ],
          },
        ],
      },
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'T\nbody' },
              {
                type: 'file',
                file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,QUI=' },
              },
            ],
          },
        ],
      },
    ],
    [
      'behaviour 28: tool results right behind their calls, in any order, their images in a user message after all of them',
      {
        messages: [
          HI,
          {
            role: 'assistant',
            content: [{ type: 'text', text: 'let me' }, use('a', { x: 1 }), use('b')],
          },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'first' },
              {
                type: 'tool_result',
                tool_use_id: 'b',
                content: [{ type: 'text', text: 'seen' }, image],
              },
              { type: 'tool_result', tool_use_id: 'a', is_error: true, content: 'broke' },
            ],
          },
        ],
      },
      {
        messages: [
          HI,
          {
            role: 'assistant',
            content: 'let me',
            tool_calls: [toolCall('a', '{"x":1}'), toolCall('b')],
          },
          { role: 'tool', tool_call_id: 'b', content: 'seen' },
          { role: 'tool', tool_call_id: 'a', content: 'Error: broke' },
          { role: 'user', content: [imageUrl, { type: 'text', text: 'first' }] },
        ],
      },
    ],
    [
      'calls without text: content null',
      {
        messages: [
          HI,
          { role: 'assistant', content: [use('a')] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] },
        ],
      },
      {
        messages: [
          HI,
          { role: 'assistant', content: null, tool_calls: [toolCall('a')] },
          { role: 'tool', tool_call_id: 'a', content: '' },
        ],
      },
    ],
    [
      'thinking and other vendor blocks of old turns: nothing',
      {
        messages: [
          HI,
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'hm', signature: 's' },
              { type: 'redacted_thinking', data: 'x' },
              { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
              { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
              { type: 'mcp_tool_listing', mcp_server_name: 'm', tools: [] },
              { type: 'fallback', from: {}, to: {} },
              { type: 'text', text: 'ok' },
            ],
          },
          HI,
        ],
      },
      { messages: [HI, { role: 'assistant', content: 'ok' }, HI] },
    ],
  ])('%s', (_, body, expected) => {
    const actual = translated(body);
    if ('model' in expected) expect(actual).toEqual(expected);
    else expect(actual).toMatchObject(expected);
    if (expected['messages']) expect(actual['messages']).toEqual(expected['messages']);
  });
});
