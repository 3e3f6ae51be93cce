import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startLocalUpstream, type LocalUpstream } from '../../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../../testing/node-under-test.ts';

const WEIGHT = 1_000_000;
const BOUGHT = 100_000;
const PROMPT = 10;
const OUTPUT = 5;
const TOOL = { type: 'web_search_20250305', name: 'web_search' };
const SEARCH = { tools: [{ ...TOOL, max_uses: 2 }] };

let node: NodeUnderTest;
let upstream: LocalUpstream;
/** Holds the part of the upstream's usage that counts searches. */
let searched: object = {};

beforeAll(async () => {
  node = await startNodeUnderTest();
  upstream = await startLocalUpstream((response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        type: 'message',
        content: [{ type: 'text', text: 'ok' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: PROMPT, output_tokens: OUTPUT, ...searched },
      }),
    ),
  );
});
afterAll(async () => {
  await node.stop();
  await upstream.close();
});

async function send(fields: object, searchTokens: number, multipliers?: Record<string, number>) {
  const price = {
    id: 900,
    effective_at: 0,
    weight_input: WEIGHT,
    weight_output: WEIGHT,
    weight_cache_read: WEIGHT,
    weight_cache_write: WEIGHT,
    weight_searches: searchTokens * WEIGHT,
    ...(multipliers && { multipliers }),
  };
  const model = await node.addModel(
    [{ baseUrl: upstream.baseUrl, protocol: 'anthropic' }],
    { context_window: 1_000, prices: [price] },
    BOUGHT,
  );
  const sentBefore = upstream.requests.length;
  const response = await node.post('/v1/messages', {
    model: model.name,
    max_tokens: 50,
    messages: [{ role: 'user', content: 'hi' }],
    ...fields,
  });
  await response.text();
  const isSent = upstream.requests.length > sentBefore;
  const charge = BOUGHT - (await node.settledBalance(model));
  const rid = response.headers.get('x-request-id');
  return {
    status: response.status,
    isSent,
    charge,
    final: isSent && (await node.journalledFinal(rid)),
  };
}

test.each([
  ['offered and not used', {}, 0],
  ['used', { server_tool_use: { web_search_requests: 1 } }, 1],
  ['used twice', { server_tool_use: { web_search_requests: 2, web_fetch_requests: 3 } }, 2],
  ['reported beyond what was allowed', { server_tool_use: { web_search_requests: 9 } }, 2],
  ['reported as no count', { server_tool_use: { web_search_requests: -4 } }, 0],
])('web search that was %s is charged by the search', async (_, reported, searches) => {
  searched = reported;
  const { status, charge, final } = await send(SEARCH, 700);
  expect([status, charge]).toEqual([200, PROMPT + OUTPUT + 700 * searches]);
  expect(Object(final).searches ?? 0).toBe(searches);
  expect(final).not.toHaveProperty('premiums');
  const both = await send(SEARCH, 700, { 'server_tools=web_search': 2 * WEIGHT });
  expect(both.charge).toBe(2 * (PROMPT + OUTPUT) + 700 * searches);
});

test('every search that a request allows is held for', async () => {
  // Two searches and three windows are within the balance of 100,000; with more of them it is refused.
  expect(await send(SEARCH, 48_000)).toMatchObject({ status: 200 });
  expect(await send(SEARCH, 50_000)).toMatchObject({ status: 402, isSent: false, charge: 0 });
  expect(await send({ tools: [TOOL] }, 10_000)).toMatchObject({ status: 402, isSent: false });
});
