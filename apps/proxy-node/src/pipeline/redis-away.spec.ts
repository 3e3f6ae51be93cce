import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { SnapshotModel } from '@tollgate/snapshot';
import { until } from '@tollgate/harness';
import { startLocalUpstream, type LocalUpstream } from '../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';

let node: NodeUnderTest;
let upstream: LocalUpstream;
let model: SnapshotModel;

beforeAll(async () => {
  node = await startNodeUnderTest();
  upstream = await startLocalUpstream((response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        id: 'c',
        object: 'chat.completion',
        created: 1,
        model: 'x',
        choices: [
          { index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' },
        ],
        usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
      }),
    );
  });
  model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
});
afterAll(async () => {
  await node.stop();
  await upstream.close();
});

const ask = () =>
  node.post('/v1/chat/completions', {
    model: model.name,
    messages: [{ role: 'user', content: 'go' }],
  });

test('S47: while Redis is away every request is refused with 503, the node is not ready, and nothing reaches an upstream', async () => {
  expect((await ask()).status).toBe(200);
  const served = upstream.requests.length;
  await node.services.redis.stop();
  await until(
    'the node is not ready',
    async () => (await fetch(`${node.url}/readyz`)).status === 503,
  );
  const refused = await ask();
  expect(refused.status).toBe(503);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await fetch(`${node.url}/healthz`)).status).toBe(200);
  expect(upstream.requests.length).toBe(served);
  await node.services.redis.start();
  await until(
    'the node is ready again',
    async () => (await fetch(`${node.url}/readyz`)).status === 200,
  );
  expect((await ask()).status).toBe(200);
  expect(await node.settledBalance(model)).toBe(1_000_000 - 8);
});
