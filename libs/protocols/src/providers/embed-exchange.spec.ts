import { describe, expect, test } from '@jest/globals';
import type { UpstreamProtocol } from '@tollgate/contracts';
import type { Loose } from '../../test/drive.ts';
import { embedAsk, exchange, sent } from '../../test/gemini-client.ts';
import { findUnsupported, type Ask, type Exchange } from '../index.ts';

const HI = { content: { parts: [{ text: 'hi' }] } };
const TWO = { requests: [HI, { ...HI, model: 'models/alias' }] };
const answered = (by: Exchange, answer: object): { body: Loose; usage: Loose } => {
  const reading = by.readJson(Buffer.from(JSON.stringify(answer)));
  if (reading.kind === 'error') throw new Error(reading.error.kind);
  return { body: JSON.parse(Buffer.from(reading.body).toString()), usage: reading.usage };
};
const unsupported = (ask: Ask, protocol: UpstreamProtocol, upstreamModel = 'm'): string | null =>
  findUnsupported(ask, { speech: { protocol }, upstreamModel })?.param ?? null;

describe('before Gemini', () => {
  test('a request keeps its bytes but for the name of the model', () => {
    const text = '{ "model":"models/alias", "content" : {"parts":[{"text":"h\\u00e9"}]}}';
    const { path, requestBody } = exchange('gemini', embedAsk(text, false));
    expect(path).toBe('/models/their-model:embedContent');
    expect(Buffer.from(requestBody).toString()).toBe(text.replace('alias', 'their-model'));
    expect(sent('gemini', embedAsk(HI, false))).toEqual(HI);
  });

  test('each request of a batch names the model', () => {
    expect(exchange('gemini', embedAsk(TWO, true)).path).toBe(
      '/models/their-model:batchEmbedContents',
    );
    const named = { ...HI, model: 'models/their-model' };
    expect(sent('gemini', embedAsk(TWO, true))).toEqual({ requests: [named, named] });
  });

  test('more texts than the method takes are refused by name', () => {
    const batch = (texts: number): Ask =>
      embedAsk({ requests: Array.from({ length: texts }, () => HI) }, true);
    expect([unsupported(batch(100), 'gemini'), unsupported(batch(101), 'gemini')]).toEqual([
      null,
      'requests',
    ]);
  });

  test('an answer keeps its bytes and is charged as reported', () => {
    const answer = { embedding: { values: [0.5] }, usageMetadata: { promptTokenCount: 7 } };
    const { body, usage } = answered(exchange('gemini', embedAsk(HI, false)), answer);
    expect([body, usage]).toMatchObject([answer, { input: 7, output: 0 }]);
  });

  test.each([{ embeddings: [{ values: [1] }] }, { embeddings: [{ values: [1] }, {}] }])(
    'an answer without a vector of each text is none: %j',
    (answer) => {
      expect(() => answered(exchange('gemini', embedAsk(TWO, true)), answer)).toThrow('unreadable');
    },
  );
});

describe('before Vertex AI', () => {
  const GOOGLE = '/publishers/google/models';
  const purpose = { ...HI, taskType: 'RETRIEVAL_QUERY', title: 't' };

  test('a model of Gemini has the method of the client', () => {
    const asked = exchange('vertex', embedAsk(purpose, false), { upstreamModel: 'gemini-e' });
    expect(asked.path).toBe(`${GOOGLE}/gemini-e:embedContent`);
    expect(JSON.parse(Buffer.from(asked.requestBody).toString())).toEqual(purpose);
  });

  test('an earlier model gets the texts of a batch with their purpose, and answers as Gemini', () => {
    const ask = embedAsk({ requests: [purpose, { ...HI, outputDimensionality: undefined }] }, true);
    const asked = exchange('vertex', ask, { upstreamModel: 'text-e' });
    expect(asked.path).toBe(`${GOOGLE}/text-e:predict`);
    expect(JSON.parse(Buffer.from(asked.requestBody).toString())).toEqual({
      instances: [{ content: 'hi', task_type: 'RETRIEVAL_QUERY', title: 't' }, { content: 'hi' }],
    });
    const vector = (values: number[]) => ({
      embeddings: { values, statistics: { token_count: 4 } },
    });
    const { body, usage } = answered(asked, { predictions: [vector([1]), vector([2])] });
    expect(body).toEqual({
      embeddings: [{ values: [1] }, { values: [2] }],
      usageMetadata: { promptTokenCount: 8 },
    });
    expect(usage).toMatchObject({ input: 8 });
  });

  test('more texts than a model takes, and vectors of two lengths, are refused by name', () => {
    const lengths = [
      { ...HI, outputDimensionality: 2 },
      { ...HI, outputDimensionality: 3 },
    ];
    expect([
      unsupported(embedAsk(TWO, true), 'vertex', 'gemini-e'),
      unsupported(embedAsk({ requests: lengths }, true), 'vertex', 'text-e'),
      unsupported(embedAsk({ requests: lengths }, true), 'gemini', 'e'),
      unsupported(embedAsk(purpose, false), 'vertex', 'text-e'),
    ]).toEqual(['requests', 'requests[1].outputDimensionality', null, null]);
  });
});

describe('before an upstream of another protocol', () => {
  test('a request is one of embeddings, and its answer one of Gemini', () => {
    const ask = embedAsk(
      { requests: TWO.requests.map((each) => ({ ...each, outputDimensionality: 2 })) },
      true,
    );
    const asked = exchange('openai', ask);
    expect(asked.path).toBe('/embeddings');
    expect(JSON.parse(Buffer.from(asked.requestBody).toString())).toEqual({
      model: 'their-model',
      input: ['hi', 'hi'],
      encoding_format: 'float',
      dimensions: 2,
    });
    const vectors = [[1, 0.5], [2]].map((embedding, index) => ({ index, embedding }));
    const usage = { prompt_tokens: 6, total_tokens: 6 };
    const reading = answered(asked, { object: 'list', data: vectors, usage });
    expect(reading.body).toEqual({
      embeddings: [{ values: [1, 0.5] }, { values: [2] }],
      usageMetadata: { promptTokenCount: 6 },
    });
    expect(reading.usage).toMatchObject({ input: 6, output: 0 });
    const one = answered(exchange('openai', embedAsk(HI, false)), { data: [vectors[0]], usage });
    expect(one.body).toMatchObject({ embedding: { values: [1, 0.5] } });
  });

  test.each([
    [{ ...HI, taskType: 'CLUSTERING' }, 'taskType'],
    [{ ...HI, title: 't' }, 'title'],
  ])('what only Google has is refused by name', (body, param) => {
    expect(unsupported(embedAsk(body, false), 'openai')).toBe(param);
    expect(unsupported(embedAsk(body, false), 'gemini')).toBeNull();
  });
});
