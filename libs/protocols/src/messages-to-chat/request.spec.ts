import { describe, expect, test } from '@jest/globals';
import { HI, translated, use } from '../../test/messages-asks.ts';
import { exchangeOf } from '../../test/drive.ts';
import { InvalidRequest } from '../exchange.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { carryToolId, chatToolId } from '../translation/tool-ids.ts';

describe('messages -> chat request: what is asked for becomes', () => {
  test.each<[string, JsonRecord, JsonRecord]>([
    ['a question', {}, { model: 'gpt-5', max_tokens: 100, messages: [HI] }],
    [
      'behaviour 5: system blocks, without the billing header',
      {
        system: [
          {
            type: 'text',
            text: 'x-anthropic-billing-header: cc_version=2.1.329.a1b; cc_entrypoint=sdk-cli;',
          },
          { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
          { type: 'text', text: 'b' },
        ],
      },
      { messages: [{ role: 'system', content: 'a\nb' }, HI] },
    ],
    [
      'tools',
      {
        tools: [
          {
            name: 'f',
            description: 'd',
            input_schema: { type: 'object' },
            cache_control: {},
            eager_input_streaming: true,
          },
          { type: 'custom', name: 'g', strict: true, defer_loading: true },
          { name: 'DeferredToolPlaceholder', defer_loading: true },
        ],
      },
      {
        tools: [
          {
            type: 'function',
            function: { name: 'f', description: 'd', parameters: { type: 'object' } },
          },
          {
            type: 'function',
            function: { name: 'g', parameters: { type: 'object', properties: {} }, strict: true },
          },
        ],
      },
    ],
    [
      'tool_choice any',
      { tools: [{ name: 'f' }], tool_choice: { type: 'any', disable_parallel_tool_use: true } },
      { tool_choice: 'required', parallel_tool_calls: false },
    ],
    [
      'tool_choice tool',
      { tools: [{ name: 'f' }], tool_choice: { type: 'tool', name: 'f' } },
      { tool_choice: { type: 'function', function: { name: 'f' } } },
    ],
    [
      'tool_choice none',
      { tools: [{ name: 'f' }], tool_choice: { type: 'none' } },
      { tool_choice: 'none' },
    ],
    [
      'stop sequences and sampling',
      { stop_sequences: ['a'], temperature: 0.3, top_p: 0.5, top_k: 3 },
      { stop: ['a'], temperature: 0.3, top_p: 0.5 },
    ],
    [
      'effort',
      { thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'xhigh' } },
      { reasoning_effort: 'xhigh' },
    ],
    [
      'a thinking budget',
      { thinking: { type: 'enabled', budget_tokens: 10_000 } },
      { reasoning_effort: 'medium' },
    ],
    [
      'an output format',
      {
        output_config: {
          format: {
            type: 'json_schema',
            schema: {
              type: 'object',
              properties: { a: {} },
              required: ['a'],
              additionalProperties: false,
            },
          },
        },
      },
      { response_format: { type: 'json_schema', json_schema: { name: 'output', strict: true } } },
    ],
    [
      'an output format strict mode would refuse',
      {
        output_format: {
          type: 'json_schema',
          schema: { type: 'object', properties: { a: {} }, additionalProperties: false },
        },
      },
      { response_format: { type: 'json_schema', json_schema: { name: 'output', strict: false } } },
    ],
    ['the end user', { metadata: { user_id: 'u' } }, { user: 'u' }],
    [
      'a long end user: a hash of 64',
      { metadata: { user_id: 'u'.repeat(200) } },
      { user: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ],
    [
      'a stream, with usage',
      { stream: true },
      { stream: true, stream_options: { include_usage: true } },
    ],
    [
      'cache control, service tier, speed, container, context management: nothing (listed omissions)',
      {
        cache_control: {},
        service_tier: 'auto',
        speed: 'fast',
        container: 'c',
        context_management: {},
        inference_geo: 'us',
      },
      { model: 'gpt-5', max_tokens: 100, messages: [HI] },
    ],
  ])('%s', (_, body, expected) => {
    const actual = translated(body);
    if ('model' in expected) expect(actual).toEqual(expected);
    else expect(actual).toMatchObject(expected);
    if (expected['messages']) expect(actual['messages']).toEqual(expected['messages']);
  });

  test('effort stays away from models that refuse it, and thoughts return to those that want them', () => {
    expect(translated({ output_config: { effort: 'high' } }, 'gpt-4o-mini')).not.toHaveProperty(
      'reasoning_effort',
    );
    expect(
      translated({ thinking: { type: 'disabled' }, output_config: { effort: 'high' } }),
    ).not.toHaveProperty('reasoning_effort');
    const messages = [
      HI,
      {
        role: 'assistant',
        content: [{ type: 'thinking', thinking: 'hm', signature: '' }, use('a')],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }] },
    ];
    expect(translated({ messages }, 'deepseek-v4')).toHaveProperty(
      'messages.1.reasoning_content',
      'hm',
    );
    expect(JSON.stringify(translated({ messages }))).not.toContain('hm');
  });

  test("the limit goes into the route's field, lowered to what was granted", () => {
    const { requestBody, path } = exchangeOf(
      'messages',
      'openai',
      { model: 'alias', max_tokens: 100, messages: [HI] },
      { outputLimit: 40, outputLimitField: 'max_completion_tokens' },
    );
    expect(path).toBe('/chat/completions');
    expect(JSON.parse(Buffer.from(requestBody).toString())).toEqual({
      model: 'upstream-model',
      messages: [HI],
      max_completion_tokens: 40,
    });
  });

  test('a request of Claude Code reaches a chat upstream', () => {
    const body = {
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.329.a1b;' },
        { type: 'text', text: 'You are Claude Code', cache_control: { type: 'ephemeral' } },
      ],
      messages: [
        {
          role: 'user',
          content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }],
        },
        { role: 'system', content: 'mid', output_config: { effort: 'high' } },
      ],
      tools: [
        {
          name: 'Bash',
          description: 'run',
          input_schema: { type: 'object', $schema: 'x' },
          eager_input_streaming: true,
        },
        { name: 'DeferredToolPlaceholder', defer_loading: true, input_schema: {} },
      ],
      thinking: { type: 'adaptive', display: 'omitted' },
      context_management: { edits: [{ type: 'clear_thinking_20251015' }] },
      output_config: { effort: 'high' },
      metadata: {
        user_id: JSON.stringify({ device_id: 'd'.repeat(64), session_id: 's'.repeat(64) }),
      },
      stream: true,
    };
    expect(translated(body)).toEqual({
      model: 'gpt-5',
      max_tokens: 100,
      messages: [
        { role: 'system', content: 'You are Claude Code' },
        { role: 'user', content: 'hi\nmid' },
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: 'Bash',
            description: 'run',
            parameters: { type: 'object', $schema: 'x' },
          },
        },
      ],
      reasoning_effort: 'high',
      user: expect.any(String),
      stream: true,
      stream_options: { include_usage: true },
    });
  });
});

describe('messages -> chat request: refused by name', () => {
  test.each<[JsonRecord, string]>([
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ mcp_servers: [{}] }, 'mcp_servers'],
    [{ tools: [{ type: 'web_search_20260318', name: 'web_search' }] }, 'tools[0].type'],
    [{ messages: [{ role: 'robot', content: 'x' }] }, 'messages[0].role'],
    [
      {
        messages: [
          { role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] },
        ],
      },
      'messages[0].content[0].source',
    ],
    [
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'document', source: { type: 'url', url: 'https://x' } }],
          },
        ],
      },
      'messages[0].content[0].source',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'hologram' }] }] },
      'messages[0].content[0].type',
    ],
    [
      { messages: [HI, { role: 'assistant', content: [{ type: 'hologram' }] }] },
      'messages[1].content[0].type',
    ],
  ])('%j names %s', (body, param) => {
    expect(() => translated(body)).toThrow(InvalidRequest);
    expect(() => translated(body)).toThrow(param);
  });
});

describe('tool ids', () => {
  test("behaviour 28: a chat upstream's odd ids reach a messages client in its form, and the upstream again as they were", () => {
    for (const id of [
      'call_AbC|weird:id.1',
      'functions.f:0',
      'x'.repeat(80),
      'tgx_YWJj',
      'ünï',
      'call_1',
      'tgx_!',
    ]) {
      const carried = carryToolId(id);
      expect(carried).toMatch(/^[a-zA-Z0-9_-]+$/);
      expect(chatToolId(carried)).toBe(id);
      expect(carryToolId(id)).toBe(carried);
    }
    expect(carryToolId('call_1')).toBe('call_1');
    expect(chatToolId('y'.repeat(65))).toMatch(/^[a-z0-9_]{1,64}$/);
  });
});
