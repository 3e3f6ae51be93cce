import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
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

/** Returns the calls that `act` makes and the listeners to their heads, without keeping them. */
async function callsOf(act: () => Promise<void>): Promise<WeakRef<object>[]> {
  const { headTo } = UpstreamCall.prototype;
  const made: WeakRef<object>[] = [];
  UpstreamCall.prototype.headTo = function (listener): void {
    made.push(new WeakRef(this), new WeakRef(listener));
    headTo.call(this, listener);
  };
  try {
    await act();
  } finally {
    UpstreamCall.prototype.headTo = headTo;
  }
  return made;
}

test('a stream that has ended is not kept in memory: neither its call, nor the request that the call belongs to', async () => {
  const made = await callsOf(async () => {
    const text = await stream((response) => void sse(response).end(STREAM.join('')));
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });
  setFlagsFromString('--expose-gc');
  await runInNewContext('gc')({ type: 'major', execution: 'async' });
  expect(made.map((one) => one.deref())).toEqual([undefined, undefined]);
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
