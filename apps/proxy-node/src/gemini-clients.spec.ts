import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { localUpstreams, type LocalUpstream } from './testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from './testing/node-under-test.ts';

const TOKENS = 1_000_000;
const HI = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] };
const CHAT = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hey' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 },
};
const GEMINI = {
  candidates: [
    { content: { role: 'model', parts: [{ text: 'hey' }] }, finishReason: 'STOP', index: 0 },
  ],
  usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 13 },
  modelVersion: 'm',
};

const VECTORS = [{ values: [0.5, 1] }, { values: [2, 3] }];
const TEXT = { content: { parts: [{ text: 'hi' }] } };

/** Speaks chat and Gemini, each as a whole answer and as a stream. */
function answer(response: ServerResponse, body: string, path: string): void {
  const events = (pieces: object[], end = ''): unknown =>
    response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end(pieces.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('') + end);
  if (path.includes('countTokens')) response.end(JSON.stringify({ totalTokens: 77 }));
  else if (path.includes('streamGenerateContent')) events([GEMINI]);
  else if (path.includes('generateContent')) response.end(JSON.stringify(GEMINI));
  else if (path.includes('batchEmbedContents'))
    response.end(JSON.stringify({ embeddings: VECTORS, usageMetadata: { promptTokenCount: 9 } }));
  else if (path.includes('embedContent'))
    response.end(JSON.stringify({ embedding: VECTORS[0], usageMetadata: { promptTokenCount: 9 } }));
  else if (path.includes('embeddings'))
    response.end(
      JSON.stringify({
        object: 'list',
        data: VECTORS.slice(0, JSON.parse(body).input.length).map(({ values }, index) => ({
          index,
          embedding: values,
        })),
        usage: { prompt_tokens: 9, total_tokens: 9 },
      }),
    );
  else if (JSON.parse(body).stream === true) {
    const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' };
    const choice = (delta: object, finish_reason: string | null = null): object => ({
      ...chunk,
      choices: [{ index: 0, delta, finish_reason }],
    });
    const pieces = [
      choice({ role: 'assistant', content: 'hey' }),
      choice({}, 'stop'),
      { ...chunk, choices: [], usage: CHAT.usage },
    ];
    events(pieces, 'data: [DONE]\n\n');
  } else response.end(JSON.stringify(CHAT));
}

const { upstreamOf, closeUpstreams } = localUpstreams();
let node: NodeUnderTest;
let upstream: LocalUpstream;
beforeAll(async () => {
  node = await startNodeUnderTest();
  upstream = await upstreamOf((response, body, incoming) =>
    answer(response, body, incoming.url ?? ''),
  );
});
afterAll(async () => {
  await node?.stop();
  await closeUpstreams();
});

const call = (path: string, body: object | null, headers: Record<string, string> = {}) =>
  fetch(`${node.url}/${path.startsWith('v1/') ? path : `v1beta/${path}`}`, {
    method: body ? 'POST' : 'GET',
    headers: { 'x-goog-api-key': node.apiKey, 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
const modelOf = (protocol: 'openai' | 'gemini') =>
  node.addModel([{ baseUrl: upstream.baseUrl, protocol }]);

describe.each(['openai', 'gemini'] as const)('a client of Gemini before %s', (protocol) => {
  test('gets a whole answer, and pays what was reported', async () => {
    const model = await modelOf(protocol);
    const response = await call(`models/${model.name}:generateContent`, HI);
    expect([response.status, await response.json()]).toMatchObject([
      200,
      {
        candidates: [{ content: { parts: [{ text: 'hey' }] }, finishReason: 'STOP' }],
        usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 4 },
        modelVersion: model.name,
      },
    ]);
    expect(await node.settledBalance(model)).toBe(TOKENS - 13);
    const final = await node.journalledFinal(response.headers.get('x-request-id'));
    expect(final).toMatchObject({ protocol: 'generate', basis: 'reported', is_stream: false });
  });

  test('gets a stream of events with alt=sse, and an array without it', async () => {
    const model = await modelOf(protocol);
    const events = await call(`models/${model.name}:streamGenerateContent?alt=sse`, HI);
    const text = await events.text();
    expect(events.headers.get('content-type')).toContain('text/event-stream');
    const pieces = text.split('\n\n').filter((each) => each.startsWith('data: '));
    expect(JSON.parse(pieces.at(-1)?.slice(6) ?? '')).toMatchObject({
      candidates: [{ finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 4 },
    });
    const array = await call(`models/${model.name}:streamGenerateContent`, HI);
    expect(array.headers.get('content-type')).toContain('application/json');
    const [first] = (await array.json()) as object[];
    expect(first).toMatchObject({ candidates: [{ content: { parts: [{ text: 'hey' }] } }] });
    expect(await node.settledBalance(model)).toBe(TOKENS - 26);
  });
});

describe.each(['openai', 'gemini'] as const)('vectors before %s', (protocol) => {
  test.each([
    ['embedContent', TEXT, { embedding: VECTORS[0] }],
    ['batchEmbedContents', { requests: [TEXT, TEXT] }, { embeddings: VECTORS }],
  ])('are answered by %s and paid as reported', async (method, body, answered) => {
    const model = await node.addModel([{ baseUrl: upstream.baseUrl, protocol }], {
      kind: 'embedding',
    });
    const response = await call(`models/${model.name}:${method}`, body);
    expect([response.status, await response.json()]).toMatchObject([
      200,
      { ...answered, usageMetadata: { promptTokenCount: 9 } },
    ]);
    expect(await node.settledBalance(model)).toBe(TOKENS - 9);
    const final = await node.journalledFinal(response.headers.get('x-request-id'));
    expect(final).toMatchObject({ protocol: 'embed', basis: 'reported', is_stream: false });
    const other = await call(`models/${model.name}:generateContent`, HI);
    expect([other.status, await other.json()]).toMatchObject([
      400,
      { error: { status: 'INVALID_ARGUMENT' } },
    ]);
    const listed = await (await call(`models/${model.name}`, null)).json();
    expect(listed).toMatchObject({
      supportedGenerationMethods: ['embedContent', 'batchEmbedContents'],
    });
  });
});

test('a fallback of a batch to another model answers with its vectors', async () => {
  const other = await node.addModel([{ baseUrl: upstream.baseUrl, protocol: 'gemini' }], {
    kind: 'embedding',
  });
  const broken = await upstreamOf((response) => response.writeHead(500).end('{}'));
  const model = await node.addModel([{ baseUrl: broken.baseUrl, protocol: 'openai' }], {
    kind: 'embedding',
    failover: { fallbacks: [{ model: other.name, on: ['error'] }] },
  });
  const response = await call(`models/${model.name}:batchEmbedContents`, {
    requests: [TEXT, { ...TEXT, model: `models/${model.name}` }],
  });
  expect(await response.json()).toMatchObject({ embeddings: VECTORS });
  expect(await node.settledBalance(other)).toBe(TOKENS - 9);
});

test('a fallback to another model answers with the whole request', async () => {
  const other = await modelOf('openai');
  const broken = await upstreamOf((response) => response.writeHead(500).end('{}'));
  const model = await node.addModel([{ baseUrl: broken.baseUrl, protocol: 'gemini' }], {
    failover: { fallbacks: [{ model: other.name, on: ['error'] }] },
  });
  const response = await call(`models/${model.name}:generateContent`, HI);
  expect(await response.json()).toMatchObject({
    candidates: [{ content: { parts: [{ text: 'hey' }] } }],
    modelVersion: other.name,
  });
  expect(await node.settledBalance(other)).toBe(TOKENS - 13);
});

test.each(['generateContent', 'embedContent'])(
  'the key in a query of %s serves, and reaches neither the upstream nor the journal',
  async (method) => {
    const isEmbed = method === 'embedContent';
    const model = await node.addModel(
      [{ baseUrl: upstream.baseUrl, protocol: 'gemini' }],
      isEmbed ? { kind: 'embedding' } : {},
    );
    const sent = upstream.requests.length;
    const response = await fetch(
      `${node.url}/v1beta/models/${model.name}:${method}?key=${node.apiKey}`,
      { method: 'POST', body: JSON.stringify(isEmbed ? TEXT : HI) },
    );
    expect(response.status).toBe(200);
    const { url, headers } = upstream.requests[sent]?.incoming ?? {};
    expect(`${url} ${JSON.stringify(headers)}`).not.toContain(node.apiKey);
    expect(await node.journalText()).not.toContain(node.apiKey);
  },
);

test('tokens are counted by Gemini where it is the upstream, else estimated', async () => {
  const native = await modelOf('gemini');
  const counted = await call(`models/${native.name}:countTokens`, HI);
  expect(await counted.json()).toEqual({ totalTokens: 77 });
  const other = await modelOf('openai');
  const whole = { generateContentRequest: { ...HI, model: `models/${other.name}` } };
  for (const body of [HI, whole]) {
    const estimated = await call(`models/${other.name}:countTokens`, body);
    const { totalTokens } = (await estimated.json()) as { totalTokens: number };
    expect(totalTokens).toBeGreaterThan(0);
    expect(totalTokens).toBeLessThan(30);
  }
});

test('models are listed in Google words, and one by its name', async () => {
  const model = await modelOf('openai');
  const row = {
    name: `models/${model.name}`,
    supportedGenerationMethods: ['generateContent', 'countTokens'],
  };
  for (const models of ['models', 'v1/models']) {
    const list = (await (await call(models, null)).json()) as { models: object[] };
    expect(list.models).toContainEqual(expect.objectContaining(row));
    expect(await (await call(`${models}/${model.name}`, null)).json()).toMatchObject(row);
  }
});

test.each([
  [404, 'NOT_FOUND', 'MODEL_NOT_FOUND', 'models/nowhere:generateContent', HI, {}],
  [
    400,
    'INVALID_ARGUMENT',
    'UNSUPPORTED_PARAMETER',
    'models/m:generateContent',
    { ...HI, cachedContent: 'x' },
    {},
  ],
  [
    401,
    'UNAUTHENTICATED',
    'INVALID_API_KEY',
    'models/m:generateContent',
    HI,
    { 'x-goog-api-key': 'no' },
  ],
  [404, 'NOT_FOUND', 'MODEL_NOT_FOUND', 'v1/models/nowhere:streamGenerateContent', HI, {}],
  [404, 'NOT_FOUND', 'MODEL_NOT_FOUND', 'v1/models/nowhere:embedContent', TEXT, {}],
  [
    400,
    'INVALID_ARGUMENT',
    'MISSING_REQUIRED_PARAMETER',
    'models/m:batchEmbedContents',
    { requests: [{}] },
    {},
  ],
  [405, 'UNIMPLEMENTED', 'METHOD_NOT_ALLOWED', 'models/m:nothing', HI, {}],
])(
  'a refused request gets %i as Google words it: %s, %s',
  async (code, status, reason, path, body, headers) => {
    const response = await call(path, body, headers);
    expect([response.status, await response.json()]).toMatchObject([
      code,
      {
        error: {
          code,
          status,
          message: expect.any(String),
          details: [{ reason, domain: 'tollgate' }],
        },
      },
    ]);
  },
);
