import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { localUpstreams } from '../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';

let node: NodeUnderTest;
const { upstreamOf, closeUpstreams } = localUpstreams();

beforeAll(async () => {
  node = await startNodeUnderTest();
});
afterAll(async () => {
  await node?.stop();
  await closeUpstreams();
});

async function counting(status: number, answer: object) {
  const upstream = await upstreamOf((response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer)),
  );
  const model = await node.addModel([
    { baseUrl: upstream.baseUrl, protocol: 'anthropic', upstreamModel: 'claude-x' },
  ]);
  const count = async (text: string): Promise<number> => {
    const response = await node.post('/v1/messages/count_tokens', {
      model: model.name,
      messages: [{ role: 'user', content: text }],
    });
    expect(response.status).toBe(200);
    return ((await response.json()) as { input_tokens: number }).input_tokens;
  };
  return { upstream, count, model };
}

test('an upstream that counts is asked, once for each body, and nothing is charged', async () => {
  const { upstream, count, model } = await counting(200, { input_tokens: 4_321 });
  expect(await count('hello')).toBe(4_321);
  expect(await count('hello')).toBe(4_321);
  expect(upstream.requests).toHaveLength(1);
  expect(JSON.parse(upstream.requests[0]?.body ?? '')).toEqual({
    model: 'claude-x',
    messages: [{ role: 'user', content: 'hello' }],
  });
  await count('other');
  expect(upstream.requests).toHaveLength(2);
  expect(await node.settledBalance(model)).toBe(1_000_000);
});

test.each([
  ['refuses', 404, {}],
  ['answers nonsense', 200, { input_tokens: 'many' }],
])('one that %s is left alone, and the count is an estimate', async (_, status, answer) => {
  const { upstream, count } = await counting(status, answer);
  for (const text of ['hello', 'hello again']) {
    const tokens = await count(text);
    expect(tokens).toBeGreaterThan(5);
    expect(tokens).toBeLessThan(100);
  }
  expect(upstream.requests).toHaveLength(1);
});
