import { describe, expect, test } from '@jest/globals';
import { exchangeOf, type Loose } from '../../test/drive.ts';
import { describeRecorded, providerRecordings } from '../../test/fixtures.ts';
import { gemini } from './gemini.ts';
import { vertex } from './vertex.ts';

const BASE = 'https://aiplatform.googleapis.com/v1/projects/p-12345/locations/global';
const CLAUDE = 'claude-sonnet-4-5@20250929';
type Client = 'chat' | 'messages' | 'responses' | 'embeddings';
const ASKS: Record<Client, object> = {
  chat: { model: 'alias', messages: [{ role: 'user', content: 'hi' }] },
  messages: { model: 'alias', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
  responses: { model: 'alias', input: 'hi' },
  embeddings: { model: 'alias', input: 'hi' },
};
const ask = (client: Client, upstreamModel: string, more: object = {}, clientHeaders = {}) =>
  exchangeOf(
    client,
    'vertex',
    { ...ASKS[client], ...more },
    { upstreamModel, clientHeaders, speech: { protocol: 'vertex', base_url: BASE } },
  );
const bodyOf = (exchange: { requestBody: Uint8Array }): Loose =>
  JSON.parse(Buffer.from(exchange.requestBody).toString());
const GOOGLE = '/publishers/google/models';

test.each([
  ['chat', 'gemini-2.5-flash', {}, `${GOOGLE}/gemini-2.5-flash:generateContent`],
  [
    'messages',
    'publishers/google/models/gemini-2.5-flash',
    { stream: true },
    `${GOOGLE}/gemini-2.5-flash:streamGenerateContent?alt=sse`,
  ],
  ['responses', CLAUDE, {}, `/publishers/anthropic/models/${CLAUDE}:rawPredict`],
  ['chat', CLAUDE, { stream: true }, `/publishers/anthropic/models/${CLAUDE}:streamRawPredict`],
  ['embeddings', 'gemini-embedding-001', {}, `${GOOGLE}/gemini-embedding-001:embedContent`],
  ['embeddings', 'text-embedding-005', {}, `${GOOGLE}/text-embedding-005:predict`],
  ['chat', '../../x', {}, `${GOOGLE}/..%2F..%2Fx:generateContent`],
] as const)('a client of %s reaches %s at its own method', (client, model, more, path) => {
  expect(ask(client, model, more).path).toBe(path);
});

test('Claude gets the bytes of a client of messages, with the version in the body, and its betas in their header', () => {
  const headers = { 'anthropic-beta': 'context-1m-2025-08-07', 'anthropic-version': '2023-06-01' };
  const exchange = ask('messages', CLAUDE, { stream: true, top_k: 5 }, headers);
  expect(bodyOf(exchange)).toEqual({
    max_tokens: 9,
    messages: [{ role: 'user', content: 'hi' }],
    stream: true,
    top_k: 5,
    anthropic_version: 'vertex-2023-10-16',
  });
  expect(exchange.requestHeaders).toEqual({ 'anthropic-beta': 'context-1m-2025-08-07' });
  const later = ask('messages', CLAUDE, {}, { 'anthropic-version': '2026-10-21' });
  expect(bodyOf(later).anthropic_version).toBe('2026-10-21');
  expect(bodyOf(ask('chat', CLAUDE)).anthropic_version).toBe('vertex-2023-10-16');
});

test('requests carry the token of their identity, or a key', () => {
  const request = { method: 'POST', origin: BASE, path: '/', headers: {}, body: null } as const;
  const auth = { type: 'google', service_account: '{}' } as const;
  expect(vertex.sign(request, { auth, token: 'ya29.x', nowMs: 0 })).toEqual({
    authorization: 'Bearer ya29.x',
  });
  const key = { type: 'api_key', api_key: 'AQ.k' } as const;
  expect(vertex.sign(request, { auth: key, token: null, nowMs: 0 })).toEqual({
    'x-goog-api-key': 'AQ.k',
  });
  expect(() => vertex.sign(request, { auth, token: null, nowMs: 0 })).toThrow('provider token');
});

describe('embeddings', () => {
  const answered = (model: string, answer: object, more: object = {}, protocol = 'vertex') => {
    const exchange =
      protocol === 'vertex'
        ? ask('embeddings', model, more)
        : exchangeOf(
            'embeddings',
            'gemini',
            { ...ASKS.embeddings, ...more },
            { upstreamModel: model },
          );
    return { exchange, reading: exchange.readJson(Buffer.from(JSON.stringify(answer))) };
  };

  test('several texts are one request of Gemini, and its vectors come in their order, as floats or packed', () => {
    const answer = {
      embeddings: [{ values: [0.5, -1] }, { values: [2, 3] }],
      usageMetadata: { promptTokenCount: 7 },
    };
    const input = ['a', 'b'];
    const { exchange, reading } = answered('e', answer, { input, dimensions: 2 }, 'gemini');
    expect(exchange.path).toBe('/models/e:batchEmbedContents');
    expect(bodyOf(exchange)).toEqual({
      requests: input.map((text) => ({
        model: 'models/e',
        content: { parts: [{ text }] },
        outputDimensionality: 2,
      })),
    });
    if (reading.kind !== 'answer') throw new Error(reading.error.message);
    expect(reading.usage).toMatchObject({ input: 7, output: 0 });
    expect(JSON.parse(Buffer.from(reading.body).toString())).toEqual({
      object: 'list',
      data: [
        { object: 'embedding', index: 0, embedding: [0.5, -1] },
        { object: 'embedding', index: 1, embedding: [2, 3] },
      ],
      model: 'alias',
      usage: { prompt_tokens: 7, total_tokens: 7 },
    });
    const packed = answered('e', answer, { input, encoding_format: 'base64' }, 'gemini').reading;
    if (packed.kind !== 'answer') throw new Error(packed.error.message);
    const [first]: Loose[] = JSON.parse(Buffer.from(packed.body).toString()).data;
    expect(
      Array.from(new Float32Array(new Uint8Array(Buffer.from(first.embedding, 'base64')).buffer)),
    ).toEqual([0.5, -1]);
  });

  test.each([
    [{ embeddings: [] }],
    [{ embeddings: [{ values: [1] }, { values: [2] }] }],
    [{ embeddings: [{ values: ['1'] }] }],
    [{ embeddings: [{ values: [] }] }],
    [{}],
  ])('the answer %j to one text is an error', (answer) => {
    expect(answered('e', answer, {}, 'gemini').reading.kind).toBe('error');
  });

  test('counts come from what the provider reports, and a report without one is none', () => {
    const values = [1];
    const counts = (...tokens: unknown[]) => ({
      predictions: tokens.map((token_count) => ({
        embeddings: { values, statistics: { token_count } },
      })),
    });
    expect(vertex.readUsage(counts(2, 3))).toMatchObject({ input: 5, output: 0 });
    for (const none of [counts(), counts(2, 'x'), counts(-1), { embedding: { values } }])
      expect(vertex.readUsage(none)).toBeNull();
    expect(gemini.readUsage({ embeddings: [{ values }] })).toBeNull();
  });

  test.each([
    [{ input: [1, 2] }, 'input'],
    [{ input: [[1], [2]] }, 'input[0]'],
    [{ input: Array.from({ length: 251 }, () => 'x') }, 'input'],
  ])('%j is refused by the name of its field', (more, param) => {
    expect(() => ask('embeddings', 'text-embedding-005', more)).toThrow(
      expect.objectContaining({ param, code: 'unsupported_parameter' }),
    );
  });

  test('a model that takes one text refuses two', () => {
    expect(() => ask('embeddings', 'gemini-embedding-001', { input: ['a', 'b'] })).toThrow(
      expect.objectContaining({ param: 'input' }),
    );
  });
});

const vectors = providerRecordings('vertex').filter(
  ({ url, status }) => url.endsWith(':predict') && status === 200,
);
describeRecorded('recorded vectors of Vertex', () => {
  test.each(vectors.map((recording) => [recording.name, recording] as const))(
    '%s are passed on and charged as counted',
    (_, { body }) => {
      const { predictions }: Loose = JSON.parse(body.toString('utf8'));
      const texts = predictions.map(() => 'x');
      const reading = ask('embeddings', 'text-embedding-004', { input: texts }).readJson(body);
      if (reading.kind !== 'answer') throw new Error(reading.error.message);
      const sent: Loose = JSON.parse(Buffer.from(reading.body).toString());
      expect(sent.data.map(({ embedding }: Loose) => embedding)).toEqual(
        predictions.map(({ embeddings }: Loose) => embeddings.values),
      );
      expect(reading.usage?.input).toBe(
        predictions.reduce(
          (sum: number, each: Loose) => sum + each.embeddings.statistics.token_count,
          0,
        ),
      );
    },
  );
});
