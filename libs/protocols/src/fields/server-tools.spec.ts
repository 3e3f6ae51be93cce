import { describe, expect, test } from '@jest/globals';
import { serverTools } from './server-tools.ts';

const SEARCH = { type: 'web_search_20260318', name: 'web_search', max_uses: 2 };
const adding = (definition: object) => ({
  messages: [
    { role: 'user', content: 'hi' },
    {
      role: 'system',
      content: [{ type: 'tool_addition', tool: { type: 'tool_definition', definition } }],
    },
  ],
});
const offering = (type: string, tool: object) => ({ input: ['hi', { type, tools: [tool] }] });

describe('a tool that the provider runs is found wherever a request offers it', () => {
  test.each<[object, { name: string; param: string; uses: number }]>([
    [{ tools: [SEARCH] }, { name: 'web_search', param: 'tools[0].type', uses: 2 }],
    [
      adding(SEARCH),
      { name: 'web_search', param: 'messages[1].content[0].tool.definition.type', uses: 2 },
    ],
    [
      offering('additional_tools', { type: 'web_search' }),
      { name: 'web_search', param: 'input[1].tools[0].type', uses: 10 },
    ],
    [
      offering('tool_search_output', { type: 'mcp', server_url: 'https://x' }),
      { name: 'mcp', param: 'input[1].tools[0].type', uses: 10 },
    ],
    [
      offering('additional_tools', { type: 'namespace', tools: [{ type: 'code_interpreter' }] }),
      { name: 'code_interpreter', param: 'input[1].tools[0].tools[0].type', uses: 10 },
    ],
    [
      { items: [{ type: 'additional_tools', tools: [{ type: 'image_generation' }] }] },
      { name: 'image_generation', param: 'items[0].tools[0].type', uses: 10 },
    ],
    [
      { tools: [{ type: 'mcp_toolset', mcp_server_name: 'x' }] },
      { name: 'mcp', param: 'tools[0].type', uses: 10 },
    ],
    [
      { tools: [{ type: 'shell', environment: { type: 'container_auto' } }] },
      { name: 'shell', param: 'tools[0].type', uses: 10 },
    ],
    [{ tools: [{ type: 'shell' }] }, { name: 'shell', param: 'tools[0].type', uses: 10 }],
  ])('%j', (body, tool) => {
    expect(serverTools({ ...body })).toEqual([tool]);
  });

  test('and one that the client runs is not taken for it', () => {
    const own = { type: 'function', name: 'f', parameters: {} };
    for (const body of [
      { tools: [{ type: 'shell', environment: { type: 'local' } }] },
      { tools: [{ type: 'browser_toolset_20260801' }, { type: 'computer_toolset_20260801' }] },
      adding({ name: 'f', input_schema: { type: 'object' } }),
      offering('additional_tools', own),
      offering('tool_search_output', { type: 'namespace', name: 'n', tools: [own] }),
      offering('mcp_list_tools', { name: 'f', input_schema: { type: 'object' } }),
      { input: [1, 2, 3] },
    ])
      expect(serverTools({ ...body })).toEqual([]);
  });
});

test('a choice of a tool that the request declares asks for no further one', () => {
  const tools = [{ type: 'web_search_20260318' }];
  expect(serverTools({ tools, tool_choice: { type: 'web_search' } })).toHaveLength(1);
});

describe('a tool of the provider that no type names is found', () => {
  test.each<[string, object, string]>([
    ['by a member, without a type', { tools: [{ googleSearch: {} }] }, 'tools[0].googleSearch'],
    ['by any member, where nothing is defined', { tools: [{ new: {} }] }, 'tools[0].new'],
    [
      'by a member beside a definition',
      { tools: [{ type: 'function', function: {}, URL_CONTEXT: {} }] },
      'tools[0].URL_CONTEXT',
    ],
    ['by a field', { search_parameters: { mode: 'on' } }, 'search_parameters'],
    ['by a field that is switched on', { enable_search: true }, 'enable_search'],
    ['by one that is switched on as a text', { enable_search: 'True' }, 'enable_search'],
    ['by one that is switched on as a number', { enable_search: 1 }, 'enable_search'],
    ['by its own name', { web_search: true }, 'web_search'],
    ['by a choice', { tool_choice: { type: 'web_search' } }, 'tool_choice.type'],
    [
      'by a choice of another tool than is declared',
      { tools: [{ type: 'function', function: {} }], tool_choice: { type: 'web_search_20250305' } },
      'tool_choice.type',
    ],
    [
      'by a list of those that are allowed',
      { tool_choice: { type: 'allowed_tools', tools: [{ type: 'function' }, { type: 'mcp' }] } },
      'tool_choice.tools[1].type',
    ],
    [
      'by such a list of the chat protocol',
      {
        tool_choice: { type: 'allowed_tools', allowed_tools: { tools: [{ type: 'web_search' }] } },
      },
      'tool_choice.allowed_tools.tools[0].type',
    ],
    ['by the data it reads', { data_sources: [{ type: 'azure_search' }] }, 'data_sources'],
  ])('%s', (_, body, param) =>
    expect(serverTools({ ...body }).map((tool) => tool.param)).toEqual([param]),
  );

  test.each<[string, object]>([
    ['a function without a type', { tools: [{ function: { name: 'f' } }] }],
    ['a tool of the messages protocol', { tools: [{ name: 'f', input_schema: {} }] }],
    ['a field that is switched off', { enable_search: false, plugins: [] }],
    ['one that is switched off in other words', { enable_search: ' OFF ', connectors: 0 }],
    ['a choice without a tool of the provider', { tool_choice: { type: 'any' } }],
    ['a choice of a function', { tool_choice: { type: 'function', function: { name: 'f' } } }],
    [
      'a choice of a shell that the client runs',
      {
        tools: [{ type: 'shell', environment: { type: 'local' } }],
        tool_choice: { type: 'shell' },
      },
    ],
    ['one that is null', { enable_search: null, mcp_servers: '' }],
  ])('and none where there is none: %s', (_, body) => expect(serverTools({ ...body })).toEqual([]));
});
