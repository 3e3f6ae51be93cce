import { expect, test } from '@jest/globals';
import { startLocalUpstream } from '../testing/local-upstream.ts';
import { startNodeUnderTest, until } from '../testing/node-under-test.ts';

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
    await until(async () => (await node.report())?.state === 'draining').catch(() => undefined);
    await expect(fetch(`${node.url}/readyz`)).rejects.toThrow();
    finish();
    expect(await running.text()).toContain('[DONE]');
    await stopped;
  } finally {
    await upstream.close();
  }
});
