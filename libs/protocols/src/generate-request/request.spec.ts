import { describe, expect, test } from '@jest/globals';
import { ask, HI } from '../../test/gemini-client.ts';
import { InvalidRequest } from '../exchange.ts';

const refusal = (body: object): [string, string | null] => {
  try {
    ask(body);
    throw new Error('it passed');
  } catch (error) {
    if (error instanceof InvalidRequest) return [error.code, error.param];
    throw error;
  }
};

describe('a request bounds what is held for it', () => {
  test('the limit, images and tools of the provider are read', () => {
    const asked = ask({
      contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] }],
      tools: [{ google_search: {} }],
      generationConfig: { maxOutputTokens: 12 },
    });
    expect(asked).toMatchObject({
      model: 'alias',
      outputLimit: 12,
      serverTools: [{ name: 'google_search' }],
      prompt: { imageCount: 1 },
    });
  });

  test('no byte of a request is free but those of inline data', () => {
    const padding = 'x'.repeat(500);
    const { prompt } = ask({ ...HI, safetySettings: [{ category: padding }] });
    expect(prompt.textBytes).toBeGreaterThan(500);
    const image = { inlineData: { mimeType: 'image/png', data: 'A'.repeat(5_000) } };
    expect(ask({ contents: [{ parts: [image] }] }).prompt.textBytes).toBeLessThan(500);
  });

  test.each([
    ['unsupported_parameter', 'cachedContent', { cachedContent: 'cachedContents/1' }],
    ['unsupported_parameter', 'nonsense', { nonsense: 1 }],
    [
      'unsupported_parameter',
      'contents[0].parts[0].fileData',
      { contents: [{ parts: [{ fileData: { fileUri: 'files/1' } }] }] },
    ],
    [
      'unsupported_parameter',
      'generationConfig.candidateCount',
      { generationConfig: { candidateCount: 2 } },
    ],
    [
      'invalid_type',
      'generationConfig.maxOutputTokens',
      { generationConfig: { maxOutputTokens: 1.5 } },
    ],
    [
      'integer_below_min_value',
      'generationConfig.maxOutputTokens',
      { generationConfig: { maxOutputTokens: 0 } },
    ],
    [
      'duplicate_field',
      'generationConfig.max_output_tokens',
      { generationConfig: { maxOutputTokens: 1, max_output_tokens: 9_000 } },
    ],
    ['missing_required_parameter', 'contents', { contents: [] }],
    ['invalid_value', 'contents[0].role', { contents: [{ role: 'system', parts: [] }] }],
    ['invalid_value', 'contents[0]', { contents: [7] }],
  ])('%s: %s', (code, param, change) => {
    expect(refusal({ ...HI, ...change })).toEqual([code, param]);
  });
});
