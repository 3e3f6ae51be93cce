import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { ClientProtocol } from '../exchange.ts';
import { DIALECTS } from './dialects/dialects.ts';
import type { FieldsOf } from './dialects/dialect.ts';
import { FIELD_TABLES } from './client-bodies.ts';
import { isDropped, unknownFields } from './known-fields.ts';
import { namedFields } from './named-fields.ts';
import { SERVER_TOOL_FIELDS } from './tool-tables.ts';

const dropped = (protocol: FieldsOf, body: Record<string, unknown>): string[] =>
  unknownFields({ protocol, body }).map(({ path: steps }) => steps.join('.'));

describe('what the SDKs of the vendors send passes', () => {
  const packages = path.join(import.meta.dirname, '../../node_modules');
  /** These are sent in headers, or decide on the model and on who is billed. */
  const NOT_PASSED = new Set([
    'betas',
    'user_profile_id',
    'workspace_id',
    'billing_policy',
    'fallbacks',
  ]);

  /** Returns the members of an interface, without those of the objects in it. */
  function members(file: string, name: string): string[] {
    const source = readFileSync(path.join(packages, file), 'utf8');
    const from = source.indexOf(`interface ${name} `);
    const indent = source.slice(source.lastIndexOf('\n', from) + 1, from).match(/^ */)?.[0] ?? '';
    const body = source.slice(from, source.indexOf(`\n${indent}}`, from));
    const member = new RegExp(`^${indent}    (\\w+)\\??:`, 'gm');
    return [...body.matchAll(member)].flatMap(([, found]) => found ?? []);
  }

  test.each<[FieldsOf, string, string]>([
    [
      'chat',
      'openai/resources/chat/completions/completions.d.ts',
      'ChatCompletionCreateParamsBase',
    ],
    ['responses', 'openai/resources/responses/responses.d.ts', 'ResponseCreateParamsBase'],
    ['responses', 'openai/resources/responses/responses.d.ts', 'ResponseCompactParams'],
    ['responses', 'openai/resources/responses/input-tokens.d.ts', 'InputTokenCountParams'],
    ['completions', 'openai/resources/completions.d.ts', 'CompletionCreateParamsBase'],
    ['embeddings', 'openai/resources/embeddings.d.ts', 'EmbeddingCreateParams'],
    [
      'conversations',
      'openai/resources/conversations/conversations.d.ts',
      'ConversationCreateParams',
    ],
    ['messages', '@anthropic-ai/sdk/resources/messages/messages.d.ts', 'MessageCreateParamsBase'],
    ['messages', '@anthropic-ai/sdk/resources/messages/messages.d.ts', 'MessageCountTokensParams'],
    [
      'messages',
      '@anthropic-ai/sdk/resources/beta/messages/messages.d.ts',
      'MessageCreateParamsBase',
    ],
    [
      'messages',
      '@anthropic-ai/sdk/resources/beta/messages/messages.d.ts',
      'MessageCountTokensParams',
    ],
  ])('%s: %s %s', (protocol, file, name) => {
    const found = members(file, name);
    expect(found.length).toBeGreaterThan(1);
    const sent = Object.fromEntries(found.map((field) => [field, 'x']));
    expect(dropped(protocol, sent).filter((field) => !NOT_PASSED.has(field))).toEqual([]);
  });

  test('and so do the options of streams', () => {
    const file = 'openai/resources/chat/completions/completions.d.ts';
    const options = Object.fromEntries(
      members(file, 'ChatCompletionStreamOptions').map((name) => [name, true]),
    );
    expect(Object.keys(options)).toContain('include_usage');
    expect(dropped('chat', { stream_options: options })).toEqual([]);
  });
});

test.each<[FieldsOf, string]>([
  ['chat', 'top_k min_p repetition_penalty guided_json structured_outputs chat_template_kwargs'],
  [
    'chat',
    'regex ebnf separate_reasoning grammar mirostat dry_multiplier xtc_probability typical_p',
  ],
  ['chat', 'safe_prompt random_seed enable_thinking thinking reasoning reasoning_format top_a'],
  ['completions', 'top_k min_p guided_regex stop_token_ids json_schema'],
  ['responses', 'top_k min_p seed chat_template_kwargs'],
  ['messages', 'top_k temperature top_p chat_template_kwargs'],
  ['embeddings', 'input_type truncate output_dimension task'],
])('sampling fields that servers document pass: %s %s', (protocol, names) => {
  expect(dropped(protocol, Object.fromEntries(names.split(' ').map((name) => [name, 1])))).toEqual(
    [],
  );
});

test('no table passes a field that the closed table takes for routing', () => {
  for (const [protocol, table] of Object.entries(FIELD_TABLES))
    for (const [name, role] of Object.entries(table))
      if (role === 'routing')
        expect(dropped(protocol as ClientProtocol, { [name]: {} })).toEqual([name]);
});

test('limits, counts and switches that the gateway reads or sets pass', () => {
  for (const [protocol, table] of Object.entries(FIELD_TABLES)) {
    const names = Object.entries(table)
      .filter(([, role]) => ['model', 'stream', 'limit', 'count', 'tier'].includes(role))
      .map(([name]) => name.split('.')[0] ?? '');
    // Embeddings are answered whole, whatever `stream` says.
    const left = names.filter((name) => protocol !== 'embeddings' || name !== 'stream');
    const body = Object.fromEntries(left.map((name) => [name, 1]));
    expect([protocol, dropped(protocol as ClientProtocol, body)]).toEqual([protocol, []]);
  }
});

test('tools of the provider pass, as their price decides', () => {
  for (const name of Object.keys(SERVER_TOOL_FIELDS))
    for (const protocol of ['chat', 'messages', 'responses'] as const)
      expect(dropped(protocol, { [name]: { a: 1 } })).toEqual([]);
});

test('of an object with listed members the others are dropped, and of labels the instructions', () => {
  expect(
    dropped('chat', {
      extra_body: { google: { thinking_config: {}, cached_content: 'x' }, api_base: 'x' },
      stream_options: { include_usage: true, nested: 1 },
      metadata: { a: 'x', model: 'm', 'langfuse-host': 'x', LANGFUSE_HOST: 'x', tags: [], b: null },
    }),
  ).toEqual([
    'extra_body.google.cached_content',
    'extra_body.api_base',
    'stream_options.nested',
    'metadata.langfuse-host',
    'metadata.LANGFUSE_HOST',
    'metadata.tags',
  ]);
  expect(dropped('messages', { metadata: { user_id: 'x', api_base: 'x' } })).toEqual([
    'metadata.api_base',
  ]);
});

test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', ''])(
  'a name of every object is known to no table: %j',
  (name) => {
    const body = JSON.parse(`{${JSON.stringify(name)}:1,"metadata":{"__proto__":{}}}`);
    expect(dropped('chat', body)).toEqual([name, 'metadata.__proto__']);
  },
);

test('a field is dropped with what it stands in, and by the whole of its name', () => {
  const fields = [{ path: ['agent'] }, { path: ['extra_body', 'a'] }];
  const at = (...steps: string[]): boolean => isDropped(steps, fields);
  expect([at('agent', 'model'), at('agent'), at('extra_body', 'a', 'b')]).toEqual([
    true,
    true,
    true,
  ]);
  expect([at('agents'), at('extra_body'), at('tools[0]', 'agent')]).toEqual([false, false, false]);
});

test('each dialect names its source and the day on which it was read', () => {
  for (const { source, read } of DIALECTS) {
    expect(source).toMatch(/^https:/);
    expect(read).toMatch(/^20\d\d-\d\d-\d\d$/);
  }
});

test('names of a header are bounded and free of separators', () => {
  const many = Array.from({ length: 100_000 }, (_, at) => ({ path: [`f${at}`, 'é,\n'] }));
  const named = namedFields(many);
  expect(named).toMatch(/^f0\.%C3%A9%2C%0A, f1\.[\x21-\x7e ]+, \+\d+$/);
  expect(named.length).toBeLessThan(1_040);
  expect(namedFields([{ path: Array.from({ length: 500 }, () => 'n'.repeat(500)) }])).toHaveLength(
    1_024,
  );
});
