import { describe, expect, test } from '@jest/globals';
import { HI, HI_TURN, translated, call, fn } from '../../test/chat-asks.ts';
import { exchangeOf } from '../../test/drive.ts';
import { InvalidRequest } from '../exchange.ts';
import type { JsonRecord } from '../json/json-guard.ts';

describe('chat -> messages request: what is asked for becomes', () => {
  test.each<[string, JsonRecord, JsonRecord]>([
    ['a question', {}, { model: 'claude-opus-4-6', max_tokens: 4096, messages: [HI_TURN] }],
    [
      'tools without a type: functions, wrapped or not',
      { tools: [{ function: { name: 'f', description: 'd' } }, { name: 'g', parameters: {} }] },
      {
        tools: [
          { name: 'f', description: 'd', input_schema: { type: 'object', properties: {} } },
          { name: 'g', input_schema: { type: 'object', properties: {} } },
        ],
      },
    ],
    [
      'tools',
      {
        tools: [
          fn('f', {
            description: 'd',
            parameters: { type: 'object', properties: { a: {} }, $schema: 's' },
            strict: true,
          }),
          fn('g'),
        ],
      },
      {
        tools: [
          {
            name: 'f',
            description: 'd',
            input_schema: { type: 'object', properties: { a: {} }, $schema: 's' },
            strict: true,
          },
          { name: 'g', input_schema: { type: 'object', properties: {} } },
        ],
      },
    ],
    [
      'tool_choice auto',
      { tools: [fn('f')], tool_choice: 'auto' },
      { tool_choice: { type: 'auto' } },
    ],
    [
      'tool_choice required',
      { tools: [fn('f')], tool_choice: 'required' },
      { tool_choice: { type: 'any' } },
    ],
    [
      'tool_choice none',
      { tools: [fn('f')], tool_choice: 'none', parallel_tool_calls: false },
      { tool_choice: { type: 'none' } },
    ],
    [
      'tool_choice function',
      { tools: [fn('f')], tool_choice: fn('f') },
      { tool_choice: { type: 'tool', name: 'f' } },
    ],
    [
      'allowed_tools: fewer tools',
      {
        tools: [fn('f'), fn('g')],
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'required', tools: [fn('g')] },
        },
      },
      {
        tools: [{ name: 'g', input_schema: { type: 'object', properties: {} } }],
        tool_choice: { type: 'any' },
      },
    ],
    [
      'parallel_tool_calls false',
      { tools: [fn('f')], parallel_tool_calls: false },
      { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    ],
    ['limits', { max_tokens: 5, max_completion_tokens: 7 }, { max_tokens: 7 }],
    ['stop', { stop: ['a', ' \n'] }, { stop_sequences: ['a'] }],
    ['a stop text', { stop: 'a' }, { stop_sequences: ['a'] }],
    ['temperature, clamped to 1', { temperature: 1.7 }, { temperature: 1 }],
    ['reasoning_effort none', { reasoning_effort: 'none' }, { thinking: { type: 'disabled' } }],
    [
      'reasoning_effort minimal',
      { reasoning_effort: 'minimal' },
      { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
    ],
    [
      'reasoning_effort high, which fixes the temperature',
      { reasoning_effort: 'high', temperature: 0.5 },
      { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
    ],
    [
      'a JSON schema',
      {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'n', schema: { type: 'object' } },
        },
      },
      { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
    ],
    ['the end user', { user: 'u', safety_identifier: 's' }, { metadata: { user_id: 's' } }],
    ['a stream', { stream: true, stream_options: { include_usage: true } }, { stream: true }],
    [
      'seed, penalties, logit_bias, store, verbosity: nothing (listed omissions)',
      {
        seed: 1,
        presence_penalty: 1,
        frequency_penalty: 1,
        logit_bias: {},
        store: true,
        verbosity: 'low',
      },
      { model: 'claude-opus-4-6', max_tokens: 4096, messages: [HI_TURN] },
    ],
  ])('%s', (_, body, expected) => {
    const actual = translated(body);
    if ('model' in expected) expect(actual).toEqual(expected);
    else expect(actual).toMatchObject(expected);
    if (!('temperature' in expected)) expect(actual).not.toHaveProperty('temperature');
  });

  test('json_object becomes an instruction, as Messages has no such field', () => {
    expect(
      JSON.stringify(translated({ response_format: { type: 'json_object' } })['system']),
    ).toMatch(/JSON object/);
  });

  test('each generation of models gets what it takes, by its name', () => {
    const effort = { reasoning_effort: 'medium', max_tokens: 9000 };
    expect(translated(effort, 'claude-sonnet-4-5-20250929')).toMatchObject({
      thinking: { type: 'enabled', budget_tokens: 8192 },
    });
    expect(translated({ ...effort, max_tokens: 2000 }, 'claude-sonnet-4-5')).toMatchObject({
      thinking: { type: 'enabled', budget_tokens: 1999 },
    });
    expect(translated({ ...effort, max_tokens: 1000 }, 'claude-sonnet-4-5')).not.toHaveProperty(
      'thinking',
    );
    expect(translated(effort, 'claude-3-haiku-20240307')).not.toHaveProperty('thinking');
    expect(translated({ temperature: 0.5, top_p: 0.9 }, 'claude-opus-4-8')).not.toHaveProperty(
      'temperature',
    );
    expect(translated({ temperature: 0.5, top_p: 0.9 }, 'claude-sonnet-4-5')).not.toHaveProperty(
      'top_p',
    );
    expect(
      translated({ temperature: 0.5, top_p: 0.9 }, 'claude-3-5-sonnet-20241022'),
    ).toMatchObject({ temperature: 0.5, top_p: 0.9 });
    const mid = {
      messages: [HI, { role: 'system', content: 'now' }, { role: 'assistant', content: 'ok' }, HI],
    };
    expect(translated(mid, 'claude-opus-4-8')).toHaveProperty('messages.1', {
      role: 'system',
      content: [{ type: 'text', text: 'now' }],
    });
  });

  test('an older model inside a tool turn does not think, for its signed thoughts cannot come through chat', () => {
    const turn = {
      messages: [
        HI,
        { role: 'assistant', tool_calls: [call('a', '{}')] },
        { role: 'tool', tool_call_id: 'a', content: 'x' },
      ],
      reasoning_effort: 'high',
      max_tokens: 30_000,
    };
    expect(translated(turn, 'claude-sonnet-4-5')).not.toHaveProperty('thinking');
  });

  test("the granted limit lowers the client's own, and the version that takes sampling is spoken", () => {
    expect(translated({ max_tokens: 100 }, 'm', 40)).toMatchObject({ max_tokens: 40 });
    expect(translated({ max_tokens: 10 }, 'm', 40)).toMatchObject({ max_tokens: 10 });
    expect(translated({}, 'm', 40)).toMatchObject({ max_tokens: 40 });
    const { requestHeaders, path } = exchangeOf(
      'chat',
      'anthropic',
      { model: 'alias', messages: [HI] },
      { clientHeaders: { 'anthropic-version': '2026-10-21' } },
    );
    expect([requestHeaders, path]).toEqual([{ 'anthropic-version': '2023-06-01' }, '/messages']);
  });

  test('behaviour 28: ids that Anthropic refuses are mapped alike in calls and results', () => {
    const odd = ['call_AbC|weird:id.1', 'x'.repeat(65), 'call_AbC_weird:id.1'];
    const messages = [
      HI,
      { role: 'assistant', tool_calls: odd.map((id) => call(id, '{}')) },
      ...odd.toReversed().map((id) => ({ role: 'tool', tool_call_id: id, content: id })),
    ];
    const [, assistant, results] = translated({ messages })['messages'] as {
      content: { id: string; tool_use_id: string; content: { text: string }[] }[];
    }[];
    const ids = assistant?.content.map(({ id }) => id) ?? [];
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(new Set(ids).size).toBe(3);
    expect(results?.content.map(({ tool_use_id: id, content }) => [id, content[0]?.text])).toEqual(
      odd.map((id, at) => [ids[at], id]).toReversed(),
    );
  });
});

describe('chat -> messages request: refused by name', () => {
  test.each<[JsonRecord, string]>([
    [{ n: 2 }, 'n'],
    [{ logprobs: true }, 'logprobs'],
    [{ audio: {} }, 'audio'],
    [{ modalities: ['text', 'audio'] }, 'modalities'],
    [{ prediction: {} }, 'prediction'],
    [{ web_search_options: {} }, 'web_search_options'],
    [{ functions: [] }, 'functions'],
    [{ tools: [{ type: 'custom', custom: { name: 'x' } }] }, 'tools[0].type'],
    [{ messages: [{ role: 'function', name: 'f', content: 'x' }] }, 'messages[0].role'],
    [
      { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }] },
      'messages[0].content[0]',
    ],
    [
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'image_url', image_url: { url: 'data:image/bmp;base64,AA' } }],
          },
        ],
      },
      'messages[0].content[0].image_url.url',
    ],
    [
      {
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: 'ftp://x' } }] },
        ],
      },
      'messages[0].content[0].image_url.url',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] },
      'messages[0].content[0].file.file_id',
    ],
    [
      { messages: [HI, { role: 'assistant', tool_calls: [call('a', '{"x":')] }] },
      'messages[1].tool_calls[0].function.arguments',
    ],
    [
      { messages: [HI, { role: 'assistant', tool_calls: [call('a', '[1]')] }] },
      'messages[1].tool_calls[0].function.arguments',
    ],
    [{ messages: [HI, { role: 'tool', content: 'x' }] }, 'messages[1].tool_call_id'],
    [{ messages: [{ role: 'user', content: '' }] }, 'messages'],
  ])('%j names %s', (body, param) => {
    try {
      translated(body);
      throw new Error('was accepted');
    } catch (error) {
      expect(error).toBeInstanceOf(InvalidRequest);
      expect(error).toMatchObject({ param });
      expect(String(error)).toContain(param);
    }
  });
});
