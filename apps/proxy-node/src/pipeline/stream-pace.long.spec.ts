import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { UsageFinal } from '@tollgate/contracts';
import { sse } from '../testing/chat-stream.ts';
import { localUpstreams } from '../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';
import { ask, STREAM } from './pipeline-under-test.ts';

const { upstreamOf, closeUpstreams } = localUpstreams();
/** Are the limits of an upstream for which no operator has set any. */
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
): Promise<{ ms: number; text: string; others: number; finals: UsageFinal[] }> {
  let isSilent = false;
  const first = await upstreamOf((response) => {
    if (!isSilent) return void sse(response).end(STREAM.join(''));
    sse(response).write(STREAM.slice(0, pieces).join('') || ': hm\n\n');
  });
  const second = await upstreamOf((response) => void sse(response).end(STREAM.join('')));
  const model = await node.addModel(
    [first, second].map(({ baseUrl }, priority) => ({ baseUrl, priority, overrides })),
  );
  const say = async (): Promise<{ text: string; rid: string | null }> => {
    const response = await node.post('/v1/chat/completions', ask(model, { stream: true }));
    return { text: await response.text(), rid: response.headers.get('x-request-id') };
  };
  let known = await say();
  for (let count = 1; count < STREAMS_KNOWN; count += 1) known = await say();
  isSilent = true;
  const startedAt = Date.now();
  const { text, rid } = await say();
  const ms = Date.now() - startedAt;
  const finals = [known.rid, rid].map((each) => node.journalledFinal(each));
  return {
    ms,
    text,
    others: second.requests.length,
    finals: (await Promise.all(finals)) as UsageFinal[],
  };
}

test('a stream without content is given up at the pace of its route, and another route answers, for which alone the customer pays', async () => {
  const { ms, text, others, finals } = await silentAfter(0, UNSET);
  const [known, final] = finals;
  expect(final).toMatchObject({
    charge: known?.charge,
    attempts: [
      { error: expect.any(String), cost: { input_tokens: expect.any(Number), output_tokens: 0 } },
      { status: 200 },
    ],
  });
  expect(final?.attempts[0]?.cost?.input_tokens).toBeGreaterThan(0);
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

test('a stream that stalls after content is given up after 15 s, and whole where another upstream says the same again', async () => {
  const { ms, text, others, finals } = await silentAfter(2, UNSET);
  expect(others).toBe(1);
  expect(text).toContain('[DONE]');
  expect(text).not.toContain('"error"');
  expect(finals[1]).toMatchObject({
    charge: finals[0]?.charge,
    attempts: [{ error: 'cut', cost: { input_tokens: expect.any(Number) } }, { status: 200 }],
  });
  expect(ms).toBeGreaterThanOrEqual(15_000);
  expect(ms).toBeLessThan(25_000);
}, 60_000);
