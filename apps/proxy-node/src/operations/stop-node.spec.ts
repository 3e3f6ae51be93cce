import { expect, test } from '@jest/globals';
import { until } from '@tollgate/harness';
import { startLocalUpstream } from '../testing/local-upstream.ts';
import { startNodeUnderTest } from '../testing/node-under-test.ts';

test('a stopping node fails readiness, finishes its streams, and takes nothing new', async () => {
  const node = await startNodeUnderTest();
  let finish: () => void = () => undefined;
  const upstream = await startLocalUpstream((response) => {
    const chunk = (delta: object, end: string | null) =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: end }] })}\n\n`;
    response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .write(chunk({ role: 'assistant', content: 'hi' }, null));
    finish = () => response.end(`${chunk({}, 'stop')}data: [DONE]\n\n`);
  });
  try {
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    const running = await node.post('/v1/chat/completions', {
      model: model.name,
      stream: true,
      messages: [{ role: 'user', content: 'go' }],
    });
    const readable = node.post('/v1/chat/completions', '{}');
    await readable;
    const stopped = node.stop();
    await until(
      'the node reports that it drains',
      async () => (await node.report())?.state === 'draining',
    ).catch(() => undefined);
    await expect(fetch(`${node.url}/readyz`)).rejects.toThrow();
    finish();
    expect(await running.text()).toContain('[DONE]');
    await stopped;
  } finally {
    await upstream.close();
  }
});

test('a node that was given notice is not ready and serves on until the notice is over', async () => {
  const node = await startNodeUnderTest({ DRAIN_NOTICE_MS: '1500' });
  const upstream = await startLocalUpstream((response) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(
        '{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}',
      ),
  );
  try {
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    const stopped = node.stop();
    await until(
      'the node is not ready',
      async () => (await fetch(`${node.url}/readyz`)).status === 503,
    );
    const answer = await node.post('/v1/chat/completions', {
      model: model.name,
      messages: [{ role: 'user', content: 'go' }],
    });
    expect(answer.status).toBe(200);
    await answer.text();
    await stopped;
    await expect(fetch(`${node.url}/readyz`)).rejects.toThrow();
  } finally {
    await upstream.close();
  }
});
