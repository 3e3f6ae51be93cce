import { expect, test } from '@jest/globals';
import { errorShapeOf } from './error-shape.ts';

test.each([
  ['/v1/chat/completions', 'chat'],
  ['/v1/messages/count_tokens', 'messages'],
  ['/v1beta/models', 'generate'],
  ['/v1/models/m', 'chat'],
  ...[
    'generateContent',
    'streamGenerateContent',
    'countTokens',
    'embedContent',
    'batchEmbedContents',
  ].map((method) => [`/v1/models/m:${method}`, 'generate'] as const),
])('an error at %s has the shape of %s', (path, shape) => {
  expect(errorShapeOf(path)).toBe(shape);
});

test('at lists of models a header of one vendor decides', () => {
  expect(errorShapeOf('/v1/models', { 'anthropic-version': '2023-06-01' })).toBe('messages');
  expect(errorShapeOf('/v1/models', { 'x-goog-api-key': 'k' })).toBe('generate');
});
