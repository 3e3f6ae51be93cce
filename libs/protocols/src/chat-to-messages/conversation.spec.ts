import { describe, expect, test } from '@jest/globals';
import { HI, HI_TURN, translated, call } from '../../test/chat-asks.ts';
import type { JsonRecord } from '../json/json-guard.ts';

describe('chat -> messages request: the conversation becomes', () => {
  test.each<[string, JsonRecord, JsonRecord]>([
    [
      'leading system and developer: the system prompt, order kept',
      {
        messages: [
          { role: 'system', content: 'a' },
          { role: 'developer', content: [{ type: 'text', text: 'b' }] },
          HI,
        ],
      },
      {
        system: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ],
    [
      'content that is an object: its JSON text',
      {
        messages: [
          { role: 'assistant', tool_calls: [call('c1', '{}')] },
          { role: 'tool', tool_call_id: 'c1', content: { degrees: 20 } },
        ],
      },
      {
        messages: [
          { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: {} }] },
          {
            role: 'user',
            content: [
              {
                type: 'tool_result',
                tool_use_id: 'c1',
                content: [{ type: 'text', text: '{"degrees":20}' }],
              },
            ],
          },
        ],
      },
    ],
    [
      'an assistant text of blanks beside a call: nothing, as Anthropic refuses it',
      {
        messages: [HI, { role: 'assistant', content: '\n\n', tool_calls: [call('c1', '{}')] }],
      },
      {
        messages: [
          HI_TURN,
          { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: {} }] },
        ],
      },
    ],
    [
      'a later system message: text of the user turn',
      { messages: [HI, { role: 'system', content: 'now' }] },
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'hi' },
              { type: 'text', text: 'now' },
            ],
          },
        ],
      },
    ],
    [
      'empty texts: nothing',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: '' },
              { type: 'text', text: 'hi' },
            ],
          },
          { role: 'assistant', content: '' },
        ],
      },
      { messages: [HI_TURN] },
    ],
    [
      'images: sources',
      {
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'image_url',
                image_url: { url: 'data:image/png;base64,QUI=', detail: 'high' },
              },
              { type: 'image_url', image_url: { url: 'https://x/y.png' } },
            ],
          },
        ],
      },
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUI=' } },
              { type: 'image', source: { type: 'url', url: 'https://x/y.png' } },
            ],
          },
        ],
      },
    ],
    [
      'a PDF: a document',
      {
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'file',
                file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,QUI=' },
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
              {
                type: 'document',
                source: { type: 'base64', media_type: 'application/pdf', data: 'QUI=' },
                title: 'a.pdf',
              },
            ],
          },
        ],
      },
    ],
    [
      'a cache breakpoint: cache_control',
      {
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'text',
                text: 'hi',
                prompt_cache_breakpoint: { mode: 'explicit', ttl: '1h' },
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
              { type: 'text', text: 'hi', cache_control: { type: 'ephemeral', ttl: '1h' } },
            ],
          },
        ],
      },
    ],
    [
      'behaviour 28: parallel tool results, in any order: one user message, results first',
      {
        messages: [
          HI,
          { role: 'assistant', content: null, tool_calls: [call('a', '{"x":1}'), call('b', '')] },
          { role: 'tool', tool_call_id: 'b', content: 'two' },
          { role: 'tool', tool_call_id: 'a', content: 'one' },
          { role: 'user', content: 'go on' },
        ],
      },
      {
        messages: [
          HI_TURN,
          {
            role: 'assistant',
            content: [
              { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
              { type: 'tool_use', id: 'b', name: 'f', input: {} },
            ],
          },
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: 'b', content: [{ type: 'text', text: 'two' }] },
              { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'one' }] },
              { type: 'text', text: 'go on' },
            ],
          },
        ],
      },
    ],
    [
      'an assistant refusal: text',
      { messages: [HI, { role: 'assistant', content: null, refusal: 'no' }, HI] },
      {
        messages: [
          HI_TURN,
          { role: 'assistant', content: [{ type: 'text', text: 'no' }] },
          HI_TURN,
        ],
      },
    ],
    [
      'a prefill: trimmed, as Anthropic wants it',
      { messages: [HI, { role: 'assistant', content: 'So: ' }] },
      { messages: [HI_TURN, { role: 'assistant', content: [{ type: 'text', text: 'So:' }] }] },
    ],
  ])('%s', (_, body, expected) => {
    const actual = translated(body);
    if ('model' in expected) expect(actual).toEqual(expected);
    else expect(actual).toMatchObject(expected);
    if (!('temperature' in expected)) expect(actual).not.toHaveProperty('temperature');
  });
});
