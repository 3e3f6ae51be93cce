import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sse } from '../testing/chat-stream.ts';
import { localUpstreams } from '../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';
import { ask, STREAM } from './pipeline-under-test.ts';

const { upstreamOf, closeUpstreams } = localUpstreams();
/** The limits of an upstream for which no operator has set any. */
const UNSET = {
  first_token_timeout_ms: 120_000,
  idle_timeout_ms: 120_000,
  total_timeout_ms: 600_000,
};
const STREAMS_KNOWN = 20;

let node: NodeUnderTest;
beforeAll(async () => {
  node = await startNodeUnderTest();
});
afterAll(async () => {
  await node?.stop();
  await closeUpstreams();
});

async function silentAfter(
  pieces: number,
  overrides: typeof UNSET,
): Promise<{ ms: number; text: string; others: number }> {
  let isSilent = false;
  const first = await upstreamOf((response) => {
    if (!isSilent) return void sse(response).end(STREAM.join(''));
    sse(response).write(STREAM.slice(0, pieces).join('') || ': hm\n\n');
  });
  const second = await upstreamOf((response) => void sse(response).end(STREAM.join('')));
  const model = await node.addModel(
    [first, second].map(({ baseUrl }, priority) => ({ baseUrl, priority, overrides })),
  );
  const say = async (): Promise<string> =>
    (await node.post('/v1/chat/completions', ask(model, { stream: true }))).text();
  for (let count = 0; count < STREAMS_KNOWN; count += 1) await say();
  isSilent = true;
  const startedAt = Date.now();
  const text = await say();
  return { ms: Date.now() - startedAt, text, others: second.requests.length };
}

test('a stream without content is given up at the pace of its route, and another route answers', async () => {
  const { ms, text, others } = await silentAfter(0, UNSET);
  expect(others).toBe(1);
  expect(text).toContain('[DONE]');
  expect(ms).toBeGreaterThanOrEqual(3_000);
  expect(ms).toBeLessThan(6_000);
}, 30_000);

test("an operator's limit is kept, though the route is usually faster", async () => {
  const { ms, text } = await silentAfter(0, { ...UNSET, first_token_timeout_ms: 7_000 });
  expect(text).toContain('[DONE]');
  expect(ms).toBeGreaterThanOrEqual(7_000);
}, 30_000);

test('a stream that stalls after content and cannot be continued ends with an error after 20 s', async () => {
  const { ms, text, others } = await silentAfter(2, UNSET);
  expect(others).toBe(0);
  expect(text).toContain('"error"');
  expect(text).not.toContain('[DONE]');
  expect(ms).toBeGreaterThanOrEqual(20_000);
  expect(ms).toBeLessThan(25_000);
}, 60_000);
