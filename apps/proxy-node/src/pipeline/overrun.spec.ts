import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { until } from '@tollgate/harness';
import { localUpstreams } from '../testing/local-upstream.ts';
import { ACCOUNT_ID, startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';

/** An upstream that ignores the limits it is given, and callers who know it. */
let node: NodeUnderTest;
const { upstreamOf, closeUpstreams } = localUpstreams();

beforeAll(async () => {
  node = await startNodeUnderTest();
});
afterAll(async () => {
  await node.stop();
  await closeUpstreams();
});

const LIMIT = 50;
const PROMPT_TOKENS = 7;
const ask = (model: { name: string }, more: object = {}) => ({
  model: model.name,
  max_tokens: LIMIT,
  messages: [{ role: 'user', content: 'go' }],
  ...more,
});
const completion = (content: string, tokens: number): string =>
  JSON.stringify({
    id: 'c1',
    object: 'chat.completion',
    created: 1,
    model: 'real',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: PROMPT_TOKENS,
      completion_tokens: tokens,
      total_tokens: PROMPT_TOKENS + tokens,
    },
  });
const json = (response: ServerResponse, text: string) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(text);
const balanceOf = async ({ id: modelId }: { id: number }) =>
  (await node.live.getBalances([{ accountId: ACCOUNT_ID, modelId }]))[0];

test('output reported above the limit is charged at the limit, and the next holds cover what was overrun', async () => {
  const waiting: ServerResponse[] = [];
  let isWaiting = false;
  const upstream = await upstreamOf((response) =>
    isWaiting ? void waiting.push(response) : json(response, completion('brief', 10 * LIMIT)),
  );
  const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
  await (await node.post('/v1/chat/completions', ask(model))).text();
  expect(await node.settledBalance(model)).toBe(1_000_000 - PROMPT_TOKENS - LIMIT);
  isWaiting = true;
  const second = node.post('/v1/chat/completions', ask(model));
  await until(
    'a request runs',
    async () => waiting.length === 1 && (await balanceOf(model))?.running === 1,
  );
  expect((await balanceOf(model))?.held).toBeGreaterThanOrEqual(10 * LIMIT);
  expect(JSON.parse(upstream.requests[1]?.body ?? '{}')).toMatchObject({ max_tokens: LIMIT });
  for (const response of waiting) json(response, completion('brief', 1));
  await (await second).text();
  await until(
    'the node reports the doubted upstream',
    async () => (await node.report())?.doubted?.[0]?.hold_factor === 10,
  );
});

test('one account spends more than it has by no more than the answers that were running when the overrun showed', async () => {
  const words = ' word'.repeat(20 * LIMIT);
  const upstream = await upstreamOf((response) => json(response, completion(words, 20 * LIMIT)));
  const bought = 4_000;
  const model = await node.addModel([{ baseUrl: upstream.baseUrl }], {}, bought);
  const cost = PROMPT_TOKENS + 20 * LIMIT;
  const first = 4;
  const statuses = async (count: number): Promise<number[]> =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const response = await node.post('/v1/chat/completions', ask(model));
        await response.text();
        return response.status;
      }),
    );
  expect(await statuses(first)).toEqual(Array.from({ length: first }, () => 200));
  const after = await node.settledBalance(model);
  expect(after).toBe(bought - first * cost);
  // What is left pays for nothing of that upstream any more, however many ask at once.
  expect((await statuses(64)).every((status) => status === 429)).toBe(true);
  expect(await node.settledBalance(model)).toBe(after);
});

test('sequential requests never spend more than is there, once the overrun is known', async () => {
  const words = ' word'.repeat(4 * LIMIT);
  const upstream = await upstreamOf((response) => json(response, completion(words, 4 * LIMIT)));
  const model = await node.addModel([{ baseUrl: upstream.baseUrl }], {}, 2_000);
  let status = 200;
  while (status === 200) {
    const response = await node.post('/v1/chat/completions', ask(model));
    await response.text();
    ({ status } = response);
    await node.settledBalance(model);
  }
  expect(status).toBe(429);
  expect(await node.settledBalance(model)).toBeGreaterThanOrEqual(0);
});

test('parallel streams without an end deliver what is paid for, whatever limit they were given', async () => {
  const chunk = (delta: object) =>
    `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'real', choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
  const upstream = await upstreamOf((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const timer = setInterval(() => response.write(chunk({ content: ' word'.repeat(10) })), 2);
    response.on('close', () => clearInterval(timer));
  });
  const bought = 4_000;
  const streams = 24;
  const model = await node.addModel([{ baseUrl: upstream.baseUrl }], {}, bought);
  const delivered = await Promise.all(
    Array.from({ length: streams }, async () => {
      const response = await node.post('/v1/chat/completions', ask(model, { stream: true }));
      const text = await response.text();
      return response.status === 200 ? (text.match(/ word/g) ?? []).length : 0;
    }),
  );
  const balance = await node.settledBalance(model);
  const words = delivered.reduce((sum, each) => sum + each, 0);
  expect(words).toBeGreaterThan(0);
  // A stream is read an event or two at a time when its hold is nearly used up.
  expect(words).toBeLessThanOrEqual(bought + streams * 40);
  expect(balance).toBeGreaterThanOrEqual(-streams * 40);
  expect(balance).toBeLessThanOrEqual(bought - words);
});
