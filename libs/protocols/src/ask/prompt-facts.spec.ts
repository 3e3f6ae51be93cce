import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createIdSealer } from '@tollgate/contracts';
import { HELLO, parse } from '../../test/read-ask.ts';
import type { ClientProtocol } from '../exchange.ts';

const SEALED = createIdSealer({ current: randomBytes(32).toString('base64url') }).seal(7, {
  upstreamId: 3,
  modelIds: [],
  keyId: null,
  id: 'msg_1',
});

describe('prompt facts', () => {
  test('count all text that becomes prompt, but no image bytes', () => {
    const image = {
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(10_000) },
    };
    const { prompt } = parse('messages', {
      model: 'm',
      max_tokens: 1,
      system: [{ type: 'text', text: 'sys' }],
      messages: [
        {
          role: 'user',
          content: [
            image,
            { type: 'text', text: 'Grüße' },
            { type: 'tool_result', tool_use_id: 't', content: [image] },
          ],
        },
      ],
      tools: [
        { name: 'find', input_schema: { type: 'object', properties: { q: { type: 'string' } } } },
      ],
      metadata: { user_id: 'not in the prompt' },
    });
    expect(prompt.imageCount).toBe(2);
    expect(prompt.textBytes).toBeGreaterThan(Buffer.byteLength('sysGrüßefind'));
    expect(prompt.textBytes).toBeLessThan(300);
    for (const text of ['sys', 'Grüße', 'find', 'q']) expect(prompt.text()).toContain(text);
    expect(prompt.text()).not.toContain('not in the prompt');
  });

  test.each<[ClientProtocol, object]>([
    [
      'messages',
      {
        max_tokens: 1,
        messages: HELLO,
        context_management: { edits: [{ type: 'compact_20260112' }] },
      },
    ],
    [
      'responses',
      { input: 'hi', context_management: [{ type: 'compaction', compact_threshold: 1_000 }] },
    ],
  ])(
    'of %s say that the provider may shorten the conversation first, and write a summary',
    (protocol, fields) => {
      const { prompt } = parse(protocol, { model: 'm', ...fields });
      expect(prompt).toMatchObject({ compactions: 1, predictedBytes: 8_192 });
      const plain = parse(protocol, { model: 'm', ...fields, context_management: null }).prompt;
      expect(plain).toMatchObject({ compactions: 0, predictedBytes: 0 });
    },
  );

  test('say that each use of a tool of the provider may be followed by a further summary', () => {
    const { prompt } = parse('messages', {
      model: 'm',
      max_tokens: 1,
      messages: HELLO,
      tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }],
      context_management: { edits: [{ type: 'compact_20260112' }] },
    });
    expect(prompt).toMatchObject({ compactions: 1, serverToolUses: 3, predictedBytes: 4 * 8_192 });
  });

  test.each<[string, object]>([
    ['an item that is named by its id', { type: 'item_reference', id: SEALED }],
    ['an item that is named by its id, without a type', { id: SEALED }],
    ['the same with a type of null', { id: SEALED, type: null }],
    [
      'a text part that also names a video',
      {
        role: 'user',
        content: [{ type: 'input_text', text: 'a', video_url: 'https://a.example/b' }],
      },
    ],
    [
      'a part of an unknown kind with a list of addresses',
      { role: 'user', content: [{ type: 'scan', pages: [' https://a.example/b'] }] },
    ],
  ])('of a response know that nothing bounds %s', (_, item) => {
    expect(parse('responses', { model: 'm', input: [item] }).prompt.unboundedInputs).toBe(1);
  });

  test('of a response: an item of a translated answer, which no provider keeps, adds no input', () => {
    const input = [{ type: 'item_reference', id: 'msg_1' }, { id: 'rs_1' }];
    expect(parse('responses', { model: 'm', input }).prompt.unboundedInputs).toBe(0);
  });

  const LONG = 'a long text '.repeat(1_000);

  test.each<[string, 'chat' | 'messages', object]>([
    [
      'a property named type',
      'chat',
      {
        tools: [
          {
            type: 'function',
            function: { name: 'f', parameters: { properties: { type: { description: LONG } } } },
          },
        ],
      },
    ],
    [
      'a schema that calls itself an image',
      'chat',
      {
        tools: [
          {
            type: 'function',
            function: { name: 'f', parameters: { type: 'image_url', description: LONG } },
          },
        ],
      },
    ],
    [
      'a message that calls itself a file',
      'chat',
      { messages: [{ role: 'user', type: 'file', content: LONG }] },
    ],
    ['a type of its own', 'chat', { messages: [{ role: 'user', content: [{ type: LONG }] }] }],
    ['a role of its own', 'chat', { messages: [{ role: LONG, content: '' }] }],
    [
      'a cache control',
      'messages',
      {
        messages: [
          { role: 'user', content: [{ type: 'text', text: '', cache_control: { note: LONG } }] },
        ],
      },
    ],
    [
      'arguments that call themselves a document',
      'messages',
      {
        messages: [
          {
            role: 'assistant',
            content: [
              { type: 'tool_use', id: 't', name: 'f', input: { type: 'document', text: LONG } },
            ],
          },
        ],
      },
    ],
    [
      'arguments with a list of images',
      'messages',
      {
        messages: [
          {
            role: 'assistant',
            content: [
              {
                type: 'tool_use',
                id: 't',
                name: 'f',
                input: { content: [{ type: 'image', text: LONG }] },
              },
            ],
          },
        ],
      },
    ],
    [
      'a document of text',
      'messages',
      {
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'document',
                source: { type: 'content', content: [{ type: 'text', text: LONG }] },
              },
            ],
          },
        ],
      },
    ],
    ['documents beside the messages', 'chat', { documents: [{ text: LONG }] }],
  ])('see a long text hidden in %s', (_place, protocol, fields) => {
    const { prompt } = parse(protocol, { model: 'm', max_tokens: 1, messages: HELLO, ...fields });
    expect(prompt.textBytes).toBeGreaterThan(LONG.length);
    expect(prompt.text()).toContain(LONG);
  });

  test('content that is an object counts as its JSON text, and as the part that some upstreams would take it for', () => {
    const lone = (content: object) =>
      parse('chat', { model: 'm', messages: [{ role: 'tool', content }] }).prompt;
    const result = { type: 'report', text: LONG };
    expect(lone(result).text()).toContain(JSON.stringify(result));
    expect(lone(result)).toMatchObject({ imageCount: 0, unboundedInputs: 0 });
    const inline = { type: 'image_url', image_url: { url: `data:image/png;base64,${LONG}` } };
    expect(lone(inline).imageCount).toBe(1);
    expect(lone(inline).textBytes).toBeGreaterThan(LONG.length);
    expect(lone({ type: 'file', file: { file_id: 'f' } }).unboundedInputs).toBe(1);
    expect(lone({ Type: 'file', file: {} }).unboundedInputs).toBe(1);
    expect(lone({ file_id: 'f' }).unboundedInputs).toBe(1);
  });

  test('stored input that a field names is unbounded, as is an answer in sound that the provider keeps', () => {
    const unbounded = (protocol: ClientProtocol, body: object): number =>
      parse(protocol, { model: 'm', ...body }).prompt.unboundedInputs;
    expect(unbounded('chat', { messages: HELLO, cached_content: 'c' })).toBe(1);
    expect(
      unbounded('chat', { messages: HELLO, extra_body: { google: { cached_content: 'c' } } }),
    ).toBe(1);
    expect(unbounded('chat', { messages: HELLO, mm_processor_kwargs: { max_pixels: 1 } })).toBe(1);
    expect(unbounded('responses', { input: 'x', previous_response_id: 'r' })).toBe(1);
    expect(
      unbounded('chat', { messages: [...HELLO, { role: 'assistant', audio: { id: 'a' } }] }),
    ).toBe(1);
  });

  test('tools of the provider count with the rounds they may run', () => {
    const uses = (protocol: ClientProtocol, body: object): number =>
      parse(protocol, { model: 'm', max_tokens: 1, messages: HELLO, ...body }).prompt
        .serverToolUses;
    const search = { type: 'web_search_20260318', name: 'web_search' };
    expect(uses('messages', { tools: [{ ...search, max_uses: 3 }, { name: 'own' }] })).toBe(3);
    expect(uses('messages', { tools: [search] })).toBe(10);
    for (const max_uses of [0, -5, 0.5, '3', 1e300])
      expect(uses('messages', { tools: [{ ...search, max_uses }] })).toBe(10);
    for (const type of [
      'custom',
      'bash_20250124',
      'browser_toolset_20260801',
      'computer_toolset_20260801',
      'text_editor_20250728',
      'tool_search_tool_bm25',
    ])
      expect(uses('messages', { tools: [{ type, name: 'x' }] })).toBe(0);
    expect(uses('messages', { mcp_servers: [{ type: 'url', url: 'https://x' }] })).toBe(10);
    expect(uses('chat', { web_search_options: {} })).toBe(10);
    expect(uses('chat', { tools: [{ type: 'function', function: { name: 'f' } }] })).toBe(0);
  });

  test('members that no table names are held by their bytes, settings are not', () => {
    const other = (body: object): number =>
      parse('chat', { model: 'm', messages: HELLO, ...body }).prompt.otherBytes;
    expect(other({ temperature: 1, metadata: { note: LONG } })).toBe(0);
    expect(other({ system: LONG })).toBeGreaterThan(LONG.length);
    expect(other({ extra_body: { x: LONG } })).toBeGreaterThan(LONG.length);
  });
});
