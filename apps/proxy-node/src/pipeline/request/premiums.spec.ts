import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startLocalUpstream, type LocalUpstream } from '../../testing/local-upstream.ts';
import {
  startNodeUnderTest,
  type NodeUnderTest,
  type UpstreamSpec,
} from '../../testing/node-under-test.ts';

const WEIGHT = 1_000_000;
const BOUGHT = 100_000;
const PROMPT = 10;
const OUTPUT = 5;

let node: NodeUnderTest;
let openai: LocalUpstream;
let anthropic: LocalUpstream;

beforeAll(async () => {
  node = await startNodeUnderTest();
  openai = await startLocalUpstream((response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        choices: [
          { index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' },
        ],
        usage: { prompt_tokens: PROMPT, completion_tokens: OUTPUT, total_tokens: PROMPT + OUTPUT },
      }),
    ),
  );
  anthropic = await startLocalUpstream((response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        type: 'message',
        content: [{ type: 'text', text: 'ok' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: PROMPT, output_tokens: OUTPUT },
      }),
    ),
  );
});
afterAll(async () => {
  await node.stop();
  await openai.close();
  await anthropic.close();
});

async function send(
  fields: object,
  {
    path = '/v1/chat/completions',
    multipliers,
    upstreams = [{ baseUrl: openai.baseUrl }],
  }: { path?: string; multipliers?: Record<string, number>; upstreams?: UpstreamSpec[] } = {},
) {
  const price = {
    id: 900,
    effective_at: 0,
    weight_input: WEIGHT,
    weight_output: WEIGHT,
    weight_cache_read: WEIGHT,
    weight_cache_write: WEIGHT,
    ...(multipliers && { multipliers }),
  };
  const model = await node.addModel(upstreams, { context_window: 1_000, prices: [price] }, BOUGHT);
  const before = openai.requests.length + anthropic.requests.length;
  const response = await node.post(path, {
    model: model.name,
    max_tokens: 50,
    messages: [{ role: 'user', content: 'hi' }],
    ...fields,
  });
  await response.text();
  const upstream = path === '/v1/messages' ? anthropic : openai;
  const isSent = openai.requests.length + anthropic.requests.length > before;
  const sent: unknown = isSent ? JSON.parse(upstream.requests.at(-1)?.body ?? '{}') : null;
  return {
    status: response.status,
    dropped: response.headers.get('x-tollgate-dropped'),
    sent,
    charge: BOUGHT - (await node.settledBalance(model)),
    final: isSent ? await node.journalledFinal(response.headers.get('x-request-id')) : null,
  };
}

describe('dearer services without a price (S26c)', () => {
  test('are dropped and named, and the rest of the request is served at the ordinary price', async () => {
    const { status, dropped, sent, charge } = await send({
      service_tier: 'priority',
      speed: 'fast',
      inference_geo: 'us',
      seed: 4,
    });
    expect([status, dropped, charge]).toEqual([
      200,
      'service_tier, speed, inference_geo',
      PROMPT + OUTPUT,
    ]);
    expect(sent).toMatchObject({ seed: 4, max_tokens: 50 });
    for (const name of ['service_tier', 'speed', 'inference_geo'])
      expect(sent).not.toHaveProperty(name);
  });

  test.each([
    { service_tier: 'auto' },
    { service_tier: 'default' },
    { service_tier: 'flex' },
    { speed: 'standard' },
    { inference_geo: 'global' },
    { service_tier: null },
  ])('what costs nothing extra passes: %j', async (fields) => {
    const { dropped, sent } = await send(fields);
    expect(dropped).toBeNull();
    expect(sent).toMatchObject(fields);
  });

  test.each([
    [{ service_tier: ['priority'] }, 'service_tier'],
    [{ service_tier: 'default ' }, 'service_tier'],
    [{ service_tier: 'a\r\nx-evil: 1' }, 'service_tier'],
    [{ speed: 6 }, 'speed'],
    [{ extra_body: { service_tier: 'priority', top_a: 1 } }, 'extra_body.service_tier'],
  ])('odd values are dropped too: %j', async (fields, name) => {
    const { status, dropped, sent } = await send(fields, {
      multipliers: { 'service_tier=scale': 1 },
    });
    expect([status, dropped]).toEqual([200, name]);
    expect(JSON.stringify(sent)).not.toContain(name.split('.').at(-1));
  });
});

describe('dearer services with a price', () => {
  const multipliers = { 'service_tier=priority': 1_750_000, 'speed=fast': 6 * WEIGHT };

  test('pass and are charged by their multipliers, which the final names', async () => {
    const { sent, dropped, charge, final } = await send(
      { service_tier: 'priority' },
      { multipliers },
    );
    expect(sent).toMatchObject({ service_tier: 'priority' });
    expect([dropped, charge]).toEqual([null, Math.ceil((PROMPT + OUTPUT) * 1.75)]);
    expect(final).toMatchObject({ premiums: ['service_tier=priority'], charge });
  });

  test('multiply each other', async () => {
    const fields = { service_tier: 'priority', speed: 'fast' };
    const { charge, final } = await send(fields, { multipliers });
    expect(charge).toBe(Math.ceil((PROMPT + OUTPUT) * 10.5));
    expect(final).toMatchObject({ premiums: ['service_tier=priority', 'speed=fast'] });
  });

  test('are sized into the hold: what the multiplied price does not pay for is not given', async () => {
    const { sent } = await send(
      { service_tier: 'priority', max_tokens: 90_000 },
      { multipliers: { 'service_tier=priority': 10 * WEIGHT } },
    );
    expect(sent).toMatchObject({ service_tier: 'priority', max_tokens: expect.any(Number) });
    expect(Number(Reflect.get(Object(sent), 'max_tokens'))).toBeLessThan(BOUGHT / 10);
  });

  test('an ordinary request costs what it did, and its final names nothing', async () => {
    const { charge, final } = await send({}, { multipliers });
    expect(charge).toBe(PROMPT + OUTPUT);
    expect(final).not.toHaveProperty('premiums');
  });

  test('are dropped where a route of the model could not carry them', async () => {
    const upstreams: UpstreamSpec[] = [
      { baseUrl: openai.baseUrl },
      { baseUrl: anthropic.baseUrl, protocol: 'anthropic', priority: 1 },
    ];
    const { dropped, charge } = await send(
      { service_tier: 'priority' },
      { multipliers, upstreams },
    );
    expect([dropped, charge]).toEqual(['service_tier', PROMPT + OUTPUT]);
  });
});

test('fields that choose another address, provider or model are dropped and named (S26c)', async () => {
  const foreign = {
    api_base: 'http://evil.example',
    base_url: 'http://evil.example',
    api_key: 'sk-x',
    user_config: { a: 1 },
    models: ['gpt-dear'],
    fallbacks: [{ model: 'gpt-dear' }],
    provider: { order: ['x'] },
    route: 'fallback',
  };
  const { status, dropped, sent } = await send({ ...foreign, logit_bias: {} });
  expect([status, dropped]).toEqual([200, Object.keys(foreign).join(', ')]);
  expect(Object.keys(Object(sent)).toSorted()).toEqual([
    'logit_bias',
    'max_tokens',
    'messages',
    'model',
  ]);
});

describe('tools of the provider', () => {
  const messages = { path: '/v1/messages' };
  const upstreams = (): UpstreamSpec[] => [{ baseUrl: anthropic.baseUrl, protocol: 'anthropic' }];
  const search = { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 2 }] };

  test.each<[object, string]>([
    [search, 'tools[0].type'],
    [
      {
        tools: [
          { name: 'own', input_schema: {} },
          { type: 'code_execution_20250825', name: 'x' },
        ],
      },
      'tools[1].type',
    ],
    [{ mcp_servers: [{ type: 'url', url: 'https://x', name: 'x' }] }, 'mcp_servers'],
    [
      {
        messages: [
          { role: 'user', content: 'hi' },
          {
            role: 'system',
            content: [
              {
                type: 'tool_addition',
                tool: { type: 'tool_definition', definition: search.tools[0] },
              },
            ],
          },
        ],
      },
      'messages[1].content[0].tool.definition.type',
    ],
  ])('are refused without a price: %j', async (fields, param) => {
    const model = await node.addModel(upstreams(), { context_window: 1_000 });
    const response = await node.post('/v1/messages', {
      model: model.name,
      max_tokens: 5,
      messages: [{ role: 'user', content: 'hi' }],
      ...fields,
    });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(`${param}: this model has no price`);
    expect(await node.settledBalance(model)).toBe(1_000_000);
  });

  test('pass with a price, and each round holds the context window', async () => {
    const multipliers = { 'server_tools=web_search': 2 * WEIGHT };
    const { status, sent, charge, final } = await send(search, {
      ...messages,
      multipliers,
      upstreams: upstreams(),
    });
    expect(status).toBe(200);
    expect(sent).toMatchObject(search);
    expect(charge).toBe(2 * (PROMPT + OUTPUT));
    expect(final).toMatchObject({ premiums: ['server_tools=web_search'] });
    const dear = await send(
      { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 60 }] },
      { ...messages, multipliers, upstreams: upstreams() },
    );
    expect([dear.status, dear.sent]).toEqual([402, null]);
  });

  test('of MCP are bought once, by their servers and the toolset that uses them', async () => {
    const { status, sent, final } = await send(
      {
        mcp_servers: [{ type: 'url', url: 'https://x', name: 'x' }],
        tools: [{ type: 'mcp_toolset', mcp_server_name: 'x' }],
      },
      { ...messages, multipliers: { 'server_tools=mcp': 2 * WEIGHT }, upstreams: upstreams() },
    );
    expect([status, sent]).toEqual([
      200,
      expect.objectContaining({ tools: [{ type: 'mcp_toolset', mcp_server_name: 'x' }] }),
    ]);
    expect(final).toMatchObject({ premiums: ['server_tools=mcp'] });
  });

  test('that name a model pass where the price names both, and charge for both', async () => {
    const advisor = { tools: [{ type: 'advisor_20260301', model: 'claude-opus-5-5' }] };
    const one = { 'server_tools=advisor': WEIGHT };
    const both = { ...one, 'nested_model=claude-opus-5-5': 3 * WEIGHT };
    const at = (multipliers: Record<string, number>) =>
      send(advisor, { ...messages, multipliers, upstreams: upstreams() });
    for (const unpriced of [one, { ...one, 'nested_model=claude-haiku-5': WEIGHT }])
      expect(await at(unpriced)).toMatchObject({ status: 400, sent: null, charge: 0 });
    const final = { premiums: Object.keys(both) };
    expect(await at(both)).toMatchObject({ sent: advisor, charge: 3 * (PROMPT + OUTPUT), final });
  });

  test('chat: web_search_options and tools that are no functions', async () => {
    expect((await send({ web_search_options: {} })).status).toBe(400);
    expect((await send({ tools: [{ type: 'web_search' }] })).status).toBe(400);
    expect((await send({ tools: [{ type: 'function', function: { name: 'f' } }] })).status).toBe(
      200,
    );
  });
});
