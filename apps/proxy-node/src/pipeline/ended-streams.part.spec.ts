import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { queryObjects } from 'node:v8';
import { expect, test } from '@jest/globals';
import { sse } from '../testing/chat-stream.ts';
import { UpstreamCall } from '../upstream/upstream-call.ts';
import { ask, node, STREAM, upstreamOf } from './pipeline-under-test.ts';

async function stream(answer: (response: ServerResponse) => void): Promise<string> {
  const { baseUrl } = await upstreamOf(answer);
  const model = await node.addModel([{ baseUrl }]);
  const response = await node.post('/v1/chat/completions', ask(model, { stream: true }));
  return response.text();
}

test('a stream that has ended is not kept in memory: neither its call, nor the request that the call belongs to', async () => {
  const callsBefore = queryObjects(UpstreamCall, { format: 'count' });
  const text = await stream((response) => void sse(response).end(STREAM.join('')));
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  expect(queryObjects(UpstreamCall, { format: 'count' })).toBeLessThanOrEqual(callsBefore);
});

test('an upstream that keeps its connection after the end mark of a stream is closed within two seconds', async () => {
  const startedAt = performance.now();
  let closed: Promise<unknown> = Promise.resolve();
  const text = await stream((response) => {
    closed = once(response, 'close');
    sse(response).write(STREAM.join(''));
  });
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  await closed;
  expect(performance.now() - startedAt).toBeLessThan(2_000);
});
