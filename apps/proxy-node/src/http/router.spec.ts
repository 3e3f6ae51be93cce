import { describe, expect, test } from '@jest/globals';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Router, type PathParams } from './router.ts';

/** Returns the path that answers a request, with its parameters; `refused` with the path if only its methods are others. */
function answerOf(method: string, url: string): unknown {
  let answer: unknown;
  const router = new Router();
  const on = (methods: string[], path: string): void =>
    router.on(methods, path, (_exchange, params: PathParams) => (answer = [path, { ...params }]));
  on(['GET'], '/');
  on(['POST'], '/v1/responses');
  on(['GET', 'DELETE'], '/v1/responses/:id');
  on(['POST'], '/v1/responses/compact');
  on(['GET'], '/v1/responses/:id/items/:item');
  on(['GET'], '/v1/models/:name+');
  const incoming = { method, url } as IncomingMessage;
  router.handle({ incoming, outgoing: {} as ServerResponse }, (_exchange, route) => {
    answer = ['refused', route?.path ?? null];
  });
  return answer;
}

describe('a request is answered by the path it names', () => {
  test.each([
    ['POST', '/v1/responses', ['/v1/responses', {}]],
    ['POST', '/v1/responses/?beta=true', ['/v1/responses', {}]],
    ['POST', 'http://node.example/v1/responses', ['/v1/responses', {}]],
    ['GET', '/v1/responses/a', ['/v1/responses/:id', { id: 'a' }]],
    ['HEAD', '/v1/responses/a', ['/v1/responses/:id', { id: 'a' }]],
    [
      'GET',
      '/v1/responses/a/items/b%2Fc',
      ['/v1/responses/:id/items/:item', { id: 'a', item: 'b/c' }],
    ],
    ['GET', '/v1/models/team/model%20a/', ['/v1/models/:name+', { name: 'team/model a' }]],
    ['GET', '/v1/models/50%', ['/v1/models/:name+', { name: '50%' }]],
    ['GET', '/', ['/', {}]],
  ])('%s %s', (method, url, expected) => {
    expect(answerOf(method, url)).toEqual(expected);
  });
});

describe('a request that no path answers is refused', () => {
  test('with the path whose methods are others: one without parameters goes first', () => {
    expect(answerOf('GET', '/v1/responses/compact')).toEqual(['refused', '/v1/responses/compact']);
    expect(answerOf('DELETE', '/v1/models/a')).toEqual(['refused', '/v1/models/:name+']);
  });

  test('with nothing where the path is none', () => {
    expect(answerOf('GET', '/v1/responses/a/b')).toEqual(['refused', null]);
    expect(answerOf('GET', '/v1/models/')).toEqual(['refused', null]);
  });
});
