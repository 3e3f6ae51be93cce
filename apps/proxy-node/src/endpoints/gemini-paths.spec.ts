import { expect, test } from '@jest/globals';
import type { IncomingMessage } from 'node:http';
import { takeKeyFromQuery } from './gemini-paths.ts';

const taken = (url: string, headers: Record<string, string> = {}) => {
  const incoming = { url, headers } as unknown as IncomingMessage;
  takeKeyFromQuery(incoming);
  return [incoming.url, incoming.headers['x-goog-api-key']];
};

test.each([
  ['/v1beta/models/m:embedContent?key=k', '/v1beta/models/m:embedContent', 'k'],
  ['/v1/models?key=k&pageSize=5', '/v1/models?pageSize=5', 'k'],
  ['/v1beta/models/m:x?alt=sse&key=k%2B', '/v1beta/models/m:x?alt=sse', 'k+'],
  ['/v1/models?monkey=k', '/v1/models?monkey=k', undefined],
  ['/v1/files?key=k', '/v1/files?key=k', undefined],
])('the key of %s leaves its URL for a header', (url, left, key) => {
  expect(taken(url)).toEqual([left, key]);
});

test('a key in the header stays before one in the query, which is dropped too', () => {
  expect(taken('/v1beta/models?key=a', { 'x-goog-api-key': 'b' })).toEqual(['/v1beta/models', 'b']);
});
