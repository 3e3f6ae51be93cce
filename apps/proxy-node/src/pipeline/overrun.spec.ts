import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { until } from '@tollgate/harness';
import { REPORTED_OVERRUN_TOKENS_MAX } from '@tollgate/metering';
import {
  chunk,
  event,
  messageStart,
  messageText,
  sse,
  START,
  TEXT_START,
  usage,
} from '../testing/chat-stream.ts';
import { localUpstreams } from '../testing/local-upstream.ts';
import { ACCOUNT_ID, startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';

/** The upstream ignores the limits it is given, and callers know it. */
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

test('a false report about one account raises no hold of another, and its own by a bounded number of tokens', async () => {
  let reported = 15_000_000;
  const waiting: ServerResponse[] = [];
  const upstream = await upstreamOf((response) =>
    reported > 0 ? json(response, completion('brief', reported)) : void waiting.push(response),
  );
  const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
  const { key } = await node.addAccount(4_711, [model], 200);
  await (await node.post('/v1/chat/completions', ask(model))).text();
  await node.settledBalance(model);
  reported = 0;
  const own = node.post('/v1/chat/completions', ask(model));
  await until('its own request runs', () => waiting.length === 1);
  const held = (await balanceOf(model))?.held ?? 0;
  expect(held).toBeGreaterThan(REPORTED_OVERRUN_TOKENS_MAX);
  expect(held).toBeLessThan(REPORTED_OVERRUN_TOKENS_MAX + 1_000);
  const headers = { authorization: `Bearer ${key}` };
  const other = node.post('/v1/chat/completions', ask(model), headers);
  await until('the other request runs', () => waiting.length === 2);
  for (const response of waiting) json(response, completion('brief', 1));
  expect([(await own).status, (await other).status]).toEqual([200, 200]);
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
  // The remaining tokens pay for nothing of that upstream any more, however many requests come at once.
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
  const upstream = await upstreamOf((response) => {
    const timer = setInterval(() => response.write(chunk({ content: ' word'.repeat(10) })), 2);
    sse(response).on('close', () => clearInterval(timer));
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

describe('a stream whose upstream ignores its limit', () => {
  const CEILING = 2 * LIMIT + 1_024;
  /** A piece has this many tokens, in words of five bytes within events of some hundred. */
  const PIECE_TOKENS = 300;
  const endless = (start: string, piece: string) =>
    upstreamOf((response) => {
      sse(response).write(start);
      const timer = setInterval(() => response.write(piece.repeat(20)), 1);
      response.on('close', () => clearInterval(timer));
    });

  test.each([
    {
      path: '/v1/chat/completions',
      protocol: 'openai' as const,
      start: START,
      piece: chunk({ content: ' word word' }),
      end: '"finish_reason":"length"',
      // The gateway's own count has one token of text and seven of the family's template.
      promptTokens: 8,
    },
    {
      path: '/v1/messages',
      protocol: 'anthropic' as const,
      start: messageStart(PROMPT_TOKENS) + TEXT_START,
      piece: messageText(' word word'),
      end: '"stop_reason":"max_tokens"',
      promptTokens: PROMPT_TOKENS,
    },
  ])('is ended as one that met it, and charged to there: $path', async (by) => {
    const { baseUrl } = await endless(by.start, by.piece);
    const model = await node.addModel([{ baseUrl, protocol: by.protocol }]);
    const response = await node.post(by.path, ask(model, { stream: true }));
    const text = await response.text();
    const words = (text.match(/ word/g) ?? []).length;
    expect(words).toBeGreaterThan(CEILING);
    expect(words).toBeLessThanOrEqual(CEILING + PIECE_TOKENS);
    expect(text).toContain(by.end);
    expect(1_000_000 - (await node.settledBalance(model))).toBe(
      by.promptTokens + Math.min(words, CEILING),
    );
    await until('the upstream is doubted', async () =>
      Boolean(
        (await node.report())?.doubted?.some(({ last_doubt: d }) => d === 'output_beyond_limit'),
      ),
    );
  });

  test('is ended where its own running usage says so, and charged up to the limit', async () => {
    let reported = 0;
    const upstream = await upstreamOf((response) => {
      sse(response).write(START);
      const timer = setInterval(() => {
        reported += 100;
        response.write(chunk({ content: ' word' }) + usage(PROMPT_TOKENS, reported));
      }, 1);
      response.on('close', () => clearInterval(timer));
    });
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    const response = await node.post('/v1/chat/completions', ask(model, { stream: true }));
    expect(await response.text()).toContain('"finish_reason":"length"');
    expect(1_000_000 - (await node.settledBalance(model))).toBe(PROMPT_TOKENS + LIMIT);
  });

  test.each<[string, string]>([
    ['reasoning', chunk({ reasoning_content: ' word'.repeat(2 * CEILING) })],
    ['text under a name that is not known', chunk({ other_name: ' word'.repeat(2 * CEILING) })],
  ])('is not ended for %s', async (_, piece) => {
    const total = 2 * CEILING + 1;
    const rest =
      chunk({ content: ' done' }, 'stop') + usage(PROMPT_TOKENS, total) + event('[DONE]');
    const upstream = await upstreamOf((response) =>
      sse(response).end(
        START + piece + chunk({ content: ' so' }) + usage(PROMPT_TOKENS, total) + rest,
      ),
    );
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    const response = await node.post('/v1/chat/completions', ask(model, { stream: true }));
    const text = await response.text();
    expect(text).toContain(' done');
    expect(text).toContain('"finish_reason":"stop"');
  });

  test('is not ended for what comes with its finish', async () => {
    const words = ' word'.repeat(CEILING + 10);
    const upstream = await upstreamOf((response) =>
      sse(response).end(
        START + chunk({ content: words }, 'stop') + usage(PROMPT_TOKENS, CEILING) + event('[DONE]'),
      ),
    );
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    const response = await node.post('/v1/chat/completions', ask(model, { stream: true }));
    expect(await response.text()).toContain('"finish_reason":"stop"');
  });
});
