import { describe, expect, test } from '@jest/globals';
import { parseAsk } from '../ask/parse-ask.ts';
import { InvalidRequest } from '../exchange.ts';
import type { ClientProtocol } from '../exchange.ts';
import { FIELD_TABLES } from './client-bodies.ts';
import { FURTHER_LIMITS } from './field-tables.ts';
import { foldName } from './fold-name.ts';
import { readFields } from './read-fields.ts';

const BODIES: Record<Exclude<ClientProtocol, 'generate' | 'embed'>, object> = {
  chat: { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
  messages: { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] },
  responses: { model: 'm', input: 'hi' },
  embeddings: { model: 'm', input: 'hi' },
  completions: { model: 'm', prompt: 'hi' },
};
const PROTOCOLS = ['chat', 'messages', 'responses', 'embeddings', 'completions'] as const;

function refusal(protocol: keyof typeof BODIES, change: object): [string, string | null] | null {
  try {
    parseAsk(protocol, Buffer.from(JSON.stringify({ ...BODIES[protocol], ...change })));
    return null;
  } catch (error) {
    if (error instanceof InvalidRequest) return [error.code, error.param];
    throw error;
  }
}

/** Makes `{a: {b: value}}` for `a.b`, and an item for `a[].b`. */
function at(path: string, value: unknown): object {
  const [head = '', ...rest] = path.split('.');
  const inner = rest.length === 0 ? value : at(rest.join('.'), value);
  return head.endsWith('[]') ? { [head.slice(0, -2)]: [inner] } : { [head]: inner };
}

describe('limits and counts of other protocols', () => {
  const foreign = PROTOCOLS.flatMap((protocol) =>
    [...Object.values(FIELD_TABLES), FURTHER_LIMITS].flatMap((table) =>
      Object.entries(table)
        .filter(([, role]) => role === 'limit' || role === 'count' || role === 'budget')
        .filter(([path]) => FIELD_TABLES[protocol][path] === undefined)
        .map(([path]) => [protocol, path] as const),
    ),
  );

  test.each(foreign)('%s refuses %s by name, whatever its value', (protocol, path) => {
    for (const value of [1, 'x', { y: 1 }, -1, 0.5])
      expect(refusal(protocol, at(path, value))).toEqual(['foreign_parameter', path]);
    expect(refusal(protocol, at(path, null))).toBeNull();
  });

  test('are many: each protocol knows those of every other', () => {
    expect(refusal('chat', { max_output_tokens: 1 })?.[1]).toBe('max_output_tokens');
    expect(refusal('responses', { max_tokens: 1 })?.[1]).toBe('max_tokens');
    expect(refusal('messages', { n: 4 })?.[1]).toBe('n');
    expect(refusal('embeddings', { max_completion_tokens: 4 })?.[1]).toBe('max_completion_tokens');
    expect(foreign.length).toBeGreaterThan(100);
  });
});

describe('names in another case', () => {
  const named = PROTOCOLS.flatMap((protocol) =>
    Object.entries(FIELD_TABLES[protocol])
      .filter(([, role]) => role !== 'setting')
      .map(([path]) => [protocol, path] as const),
  );
  const VARIANTS: ((name: string) => string)[] = [
    (name) => name.toUpperCase(),
    (name) => name.charAt(0).toUpperCase() + name.slice(1),
    (name) => name.slice(0, -1) + name.slice(-1).toUpperCase(),
    (name) => name.replace('k', '\u212a'),
    (name) => name.replace('s', '\u017f'),
  ];

  test.each(named)('%s refuses %s in every other spelling', (protocol, path) => {
    const steps = path.split('.');
    const last = steps.at(-1) ?? '';
    for (const variant of VARIANTS.map((vary) => vary(last)).filter((name) => name !== last)) {
      const spelled = [...steps.slice(0, -1), variant].join('.');
      expect(foldName(variant)).toBe(foldName(last));
      expect(refusal(protocol, at(spelled, 1))?.[0]).toBe('ambiguous_parameter');
    }
  });

  test('an escaped name is the name it spells', () => {
    const body = '{"model":"m","messages":[{"role":"user","content":"x"}],"\\u006dax_Tokens":7}';
    expect(() => parseAsk('chat', Buffer.from(body))).toThrow('max_Tokens: write max_tokens');
    const own = body.replace('ax_Tokens', '\\u0061x_tokens');
    expect(parseAsk('chat', Buffer.from(own)).outputLimit).toBe(7);
  });

  test.each(['Content', 'ROLE', 'Tool', 'Type'])('%s inside a message', (name) => {
    const change = { messages: [{ role: 'user', content: 'x', [name]: 'user' }] };
    expect(refusal('chat', change)?.[0]).toBe(name === 'Tool' ? undefined : 'ambiguous_parameter');
  });

  test('of parts and sources are refused, of arguments and schemas not', () => {
    const source = { type: 'text', data: 'x', Type: 'base64' };
    const part = { type: 'document', source };
    const messages = (content: unknown): object => ({ messages: [{ role: 'user', content }] });
    expect(refusal('messages', messages([{ Type: 'text', type: 'text', text: 'x' }]))?.[0]).toBe(
      'ambiguous_parameter',
    );
    expect(refusal('messages', messages([part]))?.[0]).toBe('ambiguous_parameter');
    const call = { type: 'tool_use', id: 't', name: 'f', input: { Type: 1, Content: 2, MODEL: 3 } };
    expect(refusal('messages', messages([call]))).toBeNull();
    expect(
      refusal('chat', { tools: [{ type: 'function', function: { parameters: { Type: 'x' } } }] }),
    ).toBeNull();
  });

  test('a setting, and what no table names, may be spelled in any way', () => {
    expect(refusal('chat', { Temperature: 1, SEED: 2, Whatever: 3, maxtime: 4 })).toBeNull();
  });
});

describe('envelopes', () => {
  test.each([
    'max_tokens',
    'model',
    'n',
    'MESSAGES',
    'Service_Tier',
    'extra_body',
    'max_output_tokens',
  ])('%s inside extra_body is refused: a gateway would put it over what was held for', (name) => {
    expect(refusal('chat', { extra_body: { [name]: 1 } })?.[0]).toBe('foreign_parameter');
  });

  test('what is dropped at the top is found inside extra_body too', () => {
    expect(readFields('chat', { extra_body: { api_base: 'x', service_tier: 'priority' } })).toEqual(
      [
        expect.objectContaining({ role: 'envelope' }),
        { path: ['extra_body', 'api_base'], role: 'routing', value: 'x' },
        { path: ['extra_body', 'service_tier'], role: 'tier', value: 'priority' },
      ],
    );
  });

  test('what costs nothing passes inside extra_body, and a thinking budget is read there', () => {
    const google = { thinking_config: { thinking_budget: 800, include_thoughts: true } };
    expect(
      refusal('chat', { extra_body: { temperature: 1, x: { model: 'y' }, google } }),
    ).toBeNull();
    expect(readFields('chat', { extra_body: { google } }).map(({ role }) => role)).toEqual([
      'envelope',
      'budget',
    ]);
  });
});

test.each<[keyof typeof BODIES, string, unknown[]]>([
  ['chat', 'max_completion_tokens', [-1, 0, 1.5, '5', 2 ** 53, true, [], {}]],
  ['chat', 'n', [-1, 0, 1.5, '5', 129]],
  ['responses', 'max_output_tokens', [-1, 0, 1.5, '5']],
  ['messages', 'max_tokens', [-1, 0.5, '5', 2 ** 53]],
  ['messages', 'thinking.budget_tokens', [0.5, '5', 2 ** 53, {}]],
  ['chat', 'reasoning.max_tokens', ['5', 1.5]],
])('%s refuses %s when it is not a count', (protocol, path, values) => {
  for (const value of values) {
    const [code, param] = refusal(protocol, at(path, value)) ?? [];
    expect(param).toBe(path);
    expect(code).toBe(codeOf(value));
  }
});

function codeOf(value: unknown): string {
  if (typeof value !== 'number' || !Number.isInteger(value)) return 'invalid_type';
  return value < 1 ? 'integer_below_min_value' : 'integer_above_max_value';
}

test("a limit that is too small is refused in OpenAI's words", () => {
  expect(() => readFields('chat', { max_tokens: 0 })).toThrow(
    "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got 0 instead.",
  );
  expect(() => readFields('chat', { max_tokens: '5' })).toThrow(
    "Invalid type for 'max_tokens': expected an integer, but got a string instead.",
  );
});

test.each(['additional_drop_params', 'drop_params', 'headers', 'num_retries', 'preset'])(
  '%s, an instruction to a gateway behind the upstream, is not sent there',
  (name) => {
    expect(readFields('chat', { [name]: ['max_tokens'] })).toEqual([
      { path: [name], role: 'routing', value: ['max_tokens'] },
    ]);
  },
);
