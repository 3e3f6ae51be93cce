import { describe, expect, test } from '@jest/globals';
import { embedAsk } from '../../test/gemini-client.ts';
import { InvalidRequest } from '../exchange.ts';

const HI = { content: { parts: [{ text: 'hi' }] } };
const refusal = (body: object, isBatch: boolean): [string, string | null] => {
  try {
    embedAsk(body, isBatch);
    throw new Error('it passed');
  } catch (error) {
    if (error instanceof InvalidRequest) return [error.code, error.param];
    throw error;
  }
};

test('a request for vectors is read as the one of embeddings that says the same', () => {
  const parts = [{ text: 'a' }, { text: 'b' }];
  expect(embedAsk({ content: { parts }, output_dimensionality: 3 }, false).body).toEqual({
    model: 'alias',
    input: ['a\nb'],
    dimensions: 3,
    encoding_format: 'float',
  });
  const batch = embedAsk({ requests: [HI, { ...HI, model: 'models/alias' }] }, true);
  expect(batch.body).toMatchObject({ input: ['hi', 'hi'] });
  expect(batch).toMatchObject({ isStream: false, outputLimit: null, prompt: { messageCount: 2 } });
});

test('no byte of a request is free', () => {
  const { prompt } = embedAsk({ ...HI, title: 'x'.repeat(500) }, false);
  expect(prompt.textBytes).toBeGreaterThan(500);
});

describe('a refused request names its field', () => {
  test.each([
    [false, 'missing_required_parameter', 'content', {}],
    [false, 'missing_required_parameter', 'content.parts', { content: { parts: [] } }],
    [false, 'invalid_value', 'content', { content: 7 }],
    [false, 'invalid_value', 'model', { ...HI, model: 'models/dearer' }],
    [false, 'invalid_type', 'outputDimensionality', { ...HI, outputDimensionality: '3' }],
    [false, 'integer_below_min_value', 'outputDimensionality', { ...HI, outputDimensionality: 0 }],
    [false, 'unsupported_parameter', 'autoTruncate', { ...HI, autoTruncate: true }],
    [
      false,
      'unsupported_parameter',
      'content.parts[0]',
      { content: { parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] } },
    ],
    [
      false,
      'unsupported_parameter',
      'content.parts[0].fileData',
      { content: { parts: [{ fileData: { fileUri: 'files/1' } }] } },
    ],
    [true, 'missing_required_parameter', 'requests', { requests: [] }],
    [true, 'missing_required_parameter', 'requests[1].content', { requests: [HI, {}] }],
    [true, 'invalid_value', 'requests[0]', { requests: [7] }],
    [true, 'invalid_value', 'requests[0].model', { requests: [{ ...HI, model: 'x' }] }],
  ])('batch %s, %s: %s', (isBatch, code, param, body) => {
    expect(refusal(body, isBatch)).toEqual([code, param]);
  });
});
