import { describe, expect, test } from '@jest/globals';
import type { ClientProtocol } from '../exchange.ts';
import { fileRefused, fileReference } from './file-reference.ts';

const refused = (protocol: ClientProtocol, body: object): string | null => {
  const path = fileReference({ protocol, body: body as Record<string, unknown> });
  return path && fileRefused(path).param;
};

describe('a request that names a file of the account that all customers share is refused by the name of its field', () => {
  const user = (content: unknown) => ({ messages: [{ role: 'user', content }] });
  test.each<[ClientProtocol, object, string]>([
    [
      'chat',
      user([
        { type: 'text', text: 'a' },
        { type: 'file', file: { file_id: 'f' } },
      ]),
      'messages[0].content[1].file.file_id',
    ],
    ['chat', user({ type: 'file', file: { file_id: 'f' } }), 'messages[0].content.file.file_id'],
    [
      'messages',
      user([{ type: 'document', source: { type: 'file', file_id: 'f' } }]),
      'messages[0].content[0].source.file_id',
    ],
    [
      'messages',
      user([
        {
          type: 'tool_result',
          tool_use_id: 't',
          content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }],
        },
      ]),
      'messages[0].content[0].content[0].source.file_id',
    ],
    [
      'messages',
      user([{ type: 'container_upload', file_id: 'f' }]),
      'messages[0].content[0].file_id',
    ],
    [
      'responses',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] },
      'input[0].content[0].file_id',
    ],
    [
      'responses',
      {
        input: [{ type: 'function_call_output', output: [{ type: 'input_image', file_id: 'f' }] }],
      },
      'input[0].output[0].file_id',
    ],
    [
      'responses',
      { input: 'a', tools: [{ type: 'file_search', vector_store_ids: ['vs'] }] },
      'tools[0].vector_store_ids',
    ],
    [
      'responses',
      {
        input: 'a',
        tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: ['f'] } }],
      },
      'tools[0].container.file_ids',
    ],
    [
      'messages',
      {
        messages: [],
        container: { skills: [{ type: 'custom', skill_id: 's', version: 'latest' }] },
      },
      'container.skills[0].skill_id',
    ],
    [
      'responses',
      {
        input: 'a',
        tools: [{ type: 'shell', environment: { type: 'container_auto', file_ids: ['f'] } }],
      },
      'tools[0].environment.file_ids',
    ],
    [
      'responses',
      {
        input: 'a',
        tools: [
          {
            type: 'shell',
            environment: { skills: [{ type: 'skill_reference', skill_id: 'skill_1' }] },
          },
        ],
      },
      'tools[0].environment.skills[0].skill_id',
    ],
    [
      'responses',
      {
        input: 'a',
        tools: [{ type: 'image_generation', input_image_mask: { file_id: 'f' } }],
      },
      'tools[0].input_image_mask.file_id',
    ],
    [
      'messages',
      { messages: [], container: { skills: [{ type: 'custom', skill_id: 's:openai-x' }] } },
      'container.skills[0].skill_id',
    ],
    [
      'messages',
      user([
        {
          type: 'web_fetch_tool_result',
          tool_use_id: 't',
          content: {
            type: 'web_fetch_result',
            url: 'https://x',
            content: { type: 'document', source: { type: 'file', file_id: 'f' } },
          },
        },
      ]),
      'messages[0].content[0].content.content.source.file_id',
    ],
    [
      'messages',
      user([
        {
          type: 'mcp_tool_result',
          tool_use_id: 't',
          content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }],
        },
      ]),
      'messages[0].content[0].content[0].source.file_id',
    ],
    [
      'messages',
      user([{ type: 'my_tool_result', file_id: 'f' }]),
      'messages[0].content[0].file_id',
    ],
    [
      'messages',
      user([
        {
          type: 'code_execution_output',
          source: { type: 'file', file_id: 'f' },
        },
      ]),
      'messages[0].content[0].source.file_id',
    ],
    [
      'responses',
      {
        input: [
          {
            type: 'additional_tools',
            role: 'developer',
            tools: [{ type: 'file_search', vector_store_ids: ['vs'] }],
          },
        ],
      },
      'input[0].tools[0].vector_store_ids',
    ],
    [
      'responses',
      {
        input: [
          {
            type: 'tool_search_output',
            tools: [
              {
                type: 'namespace',
                tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: ['f'] } }],
              },
            ],
          },
        ],
      },
      'input[0].tools[0].tools[0].container.file_ids',
    ],
    [
      'chat',
      user([{ type: 'hologram', hologram: { file_id: 'f' } }]),
      'messages[0].content[0].hologram.file_id',
    ],
  ])('%s %j', (protocol, body, param) => {
    expect(refused(protocol, body)).toBe(param);
  });

  test('but not one whose own words, tools or schemas speak of files', () => {
    const parameters = { type: 'object', properties: { file_id: { type: 'string' } } };
    for (const body of [
      user('file_id: f'),
      user([{ type: 'tool_use', id: 't', name: 'n', input: { file_id: 'f' } }]),
      user([{ type: 'document', source: { type: 'base64', data: 'AA' } }]),
      { messages: [], tools: [{ name: 'n', input_schema: parameters }] },
      {
        messages: [],
        tools: [{ type: 'function', function: { name: 'n', parameters } }],
      },
      { messages: [], container: { skills: [{ type: 'anthropic', skill_id: 'pptx' }] } },
      user([{ type: 'text', text: 'a', citations: [{ file_id: 'f' }] }]),
      user([
        {
          type: 'code_execution_tool_result',
          tool_use_id: 't',
          content: {
            type: 'code_execution_result',
            content: [{ type: 'code_execution_output', file_id: 'f' }],
          },
        },
        {
          type: 'bash_code_execution_tool_result',
          tool_use_id: 't',
          content: {
            type: 'bash_code_execution_result',
            content: [{ type: 'bash_code_execution_output', file_id: 'f' }],
          },
        },
      ]),
    ])
      for (const protocol of ['chat', 'messages'] as const)
        expect(refused(protocol, body)).toBeNull();
    expect(
      refused('responses', { input: [{ type: 'function_call', arguments: '{}' }] }),
    ).toBeNull();
  });
});
