import { describe, expect, test } from '@jest/globals';
import { exchangeOf, type Loose } from '../../test/drive.ts';
import type { ClientProtocol, ExchangeRequest } from '../exchange.ts';

/** Is longer than the shortest prompt that providers cache. */
const RULES = 'Answer in verse. '.repeat(300);
const TOOL = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };

const IDS = { seal: (id: string) => id, open: (id: string) => id, isSealed: () => false };

type Upstream = 'openai' | 'anthropic' | 'azure';

function sent(
  [protocol, upstream]: readonly [ClientProtocol, Upstream],
  body: object,
  overrides: Partial<ExchangeRequest> = {},
): Loose {
  const caching = { accountId: 7, marks: false };
  const { requestBody } = exchangeOf(protocol, upstream, body, { caching, ...overrides });
  return JSON.parse(Buffer.from(requestBody).toString('utf8')) as Loose;
}

const chatBody = (more: object = {}) => ({
  model: 'm',
  tools: [TOOL],
  messages: [
    { role: 'system', content: RULES },
    { role: 'user', content: 'hello' },
  ],
  ...more,
});
const messagesBody = (more: object = {}) => ({
  model: 'm',
  max_tokens: 10,
  system: RULES,
  messages: [{ role: 'user', content: 'hello' }],
  ...more,
});
const responsesBody = (more: object = {}) => ({
  model: 'm',
  instructions: RULES,
  input: 'hello',
  ...more,
});

describe('a derived cache key', () => {
  test('is sent to chat upstreams by clients of every protocol', () => {
    const native = { endpoints: ['responses' as const], protocol: 'openai' as const };
    for (const key of [
      sent(['chat', 'openai'], chatBody()),
      sent(['messages', 'openai'], messagesBody()),
      sent(['responses', 'openai'], responsesBody()),
      sent(['responses', 'openai'], responsesBody(), { speech: native, ids: IDS }),
    ].map((body) => body.prompt_cache_key))
      expect(key).toMatch(/^tg-[\w-]{43}$/);
  });

  test('is the same for every turn under one system prompt and tools, and another for others', () => {
    const keyOf = (body: object, accountId = 7): unknown =>
      sent(['chat', 'openai'], body, { caching: { accountId, marks: false } }).prompt_cache_key;
    const [rules] = chatBody().messages;
    const later = [rules, { role: 'user', content: 'a' }, { role: 'assistant', content: 'b' }];
    const first = keyOf(chatBody());
    expect(keyOf(chatBody({ messages: later, temperature: 1 }))).toBe(first);
    const others = [
      keyOf(chatBody(), 8),
      keyOf(chatBody({ tools: [] })),
      keyOf(chatBody({ messages: [{ role: 'developer', content: RULES }, ...later] })),
    ];
    expect(new Set([first, ...others]).size).toBe(4);
  });

  test("leaves the client's own key, short prompts, and prompts without a common beginning", () => {
    expect(sent(['chat', 'openai'], chatBody({ prompt_cache_key: 'own' })).prompt_cache_key).toBe(
      'own',
    );
    const none = [
      chatBody({ prompt_cache_key: null }),
      { model: 'm', messages: [{ role: 'system', content: 'short' }] },
      { model: 'm', messages: [{ role: 'user', content: RULES }] },
    ];
    for (const body of none)
      expect(sent(['chat', 'openai'], body).prompt_cache_key ?? null).toBe(null);
  });

  test('changes no other byte', () => {
    const text = JSON.stringify(chatBody({ model: 'upstream-model' }), null, 2);
    const { requestBody } = exchangeOf('chat', 'openai', text, {
      caching: { accountId: 7, marks: false },
    });
    const key = /,"prompt_cache_key":"tg-[\w-]{43}"(?=\}$)/;
    expect(Buffer.from(requestBody).toString('utf8').replace(key, '')).toBe(text);
  });

  test('is not sent to deployments of Azure, whose version of the interface does not know it', () => {
    const at = (base_url: string) => ({ speech: { protocol: 'azure' as const, base_url } });
    const sentTo = (url: string): unknown =>
      sent(['chat', 'azure'], chatBody(), at(url)).prompt_cache_key;
    expect(sentTo('https://x.openai.azure.com/openai')).toBeUndefined();
    expect(sentTo('https://x.openai.azure.com/openai/v1')).toMatch(/^tg-/);
  });
});

describe('an automatic mark', () => {
  const marked = { caching: { accountId: 7, marks: true } };
  const MARK = { type: 'ephemeral' };

  test('is set once on a request that marks nothing, by clients of every protocol', () => {
    for (const body of [
      sent(['messages', 'anthropic'], messagesBody(), marked),
      sent(['chat', 'anthropic'], chatBody(), marked),
      sent(['responses', 'anthropic'], responsesBody(), marked),
    ]) {
      expect(body.cache_control).toEqual(MARK);
      expect(JSON.stringify(body).split('cache_control')).toHaveLength(2);
    }
  });

  test('is not set without the setting, on short prompts, nor beside a mark of the client', () => {
    const block = { type: 'text', text: RULES, cache_control: MARK };
    expect([
      sent(['messages', 'anthropic'], messagesBody()).cache_control,
      sent(['messages', 'anthropic'], messagesBody({ system: 'short' }), marked).cache_control,
      sent(['messages', 'anthropic'], messagesBody({ system: [block] }), marked).cache_control,
    ]).toEqual([undefined, undefined, undefined]);
  });
});
