import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@tollgate/harness';
import { startLocalUpstream, type LocalUpstream } from '../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';

const WAIT_MS = 1_000;
/** Bounds the tokens that are held for the prompt of the requests below. */
const PROMPT_MAX = 100;

let node: NodeUnderTest;
let upstream: LocalUpstream;
beforeAll(async () => {
  node = await startNodeUnderTest({ RECHARGE_WAIT_MS: String(WAIT_MS) });
  upstream = await startLocalUpstream((response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const message = { role: 'assistant', content: 'ok' };
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    const answer = { id: 'c', object: 'chat.completion', created: 1, model: 'real' };
    response.end(JSON.stringify({ ...answer, choices, usage }));
  });
}, 30_000);
afterAll(async () => {
  await node?.stop();
  await upstream?.close();
});

const modelWith = (tokens: number) => node.addModel([{ baseUrl: upstream.baseUrl }], {}, tokens);
const ask = (model: { name: string }, output = 200, path = '/v1/chat/completions') =>
  node.post(path, {
    model: model.name,
    max_tokens: output,
    messages: [{ role: 'user', content: 'hello' }],
  });
/** Returns the number of requests that wait for a purchase, by the node's dump. */
const waiting = async (): Promise<number> => {
  const requestId = crypto.randomUUID();
  const page = { table: null, page: 1, page_size: 1 };
  await node.fleet.announce({ kind: 'dump', node: null, request_id: requestId, ...page });
  let entries = -1;
  await until('the dump has the waiting requests', async () => {
    const [dump] = await node.fleet.readDumps(requestId, [{ name: 'node-test', worker: 0 }]);
    entries = dump?.tables.find(({ table }) => table === 'recharge_waits')?.entries ?? -1;
    return entries >= 0;
  });
  return entries;
};
const someoneWaits = () => until('one request waits', async () => (await waiting()) === 1);
const limitsSent = (): unknown[] =>
  upstream.requests.map(({ body }) => (JSON.parse(body) as { max_tokens: unknown }).max_tokens);

test('a request that a due purchase covers waits for it and is served, its output whole', async () => {
  const model = await modelWith(50);
  await node.arm(model, { threshold: 100, amount: 5_000 });
  const served = ask(model, 1_000);
  await someoneWaits();
  await node.credit(model, 2, 5_000);
  expect((await served).status).toBe(200);
  expect(limitsSent().at(-1)).toBe(1_000);
});

test('a request whose output alone would be shortened waits for a due purchase too', async () => {
  const model = await modelWith(PROMPT_MAX + 50);
  await node.arm(model, { threshold: PROMPT_MAX + 50, amount: 5_000 });
  const served = ask(model, 1_000);
  await someoneWaits();
  await node.credit(model, 2, 5_000);
  expect((await served).status).toBe(200);
  expect(limitsSent().at(-1)).toBe(1_000);
});

test.each([
  ['/v1/chat/completions', { error: { type: 'rate_limit_error', code: 'recharge_pending' } }],
  ['/v1/messages', { type: 'error', error: { type: 'rate_limit_error' } }],
])(
  'after the wait a request to %s is answered 429 with Retry-After 1, to be repeated',
  async (path, shape) => {
    const model = await modelWith(0);
    await node.arm(model, { threshold: 0, amount: 5_000 });
    const startedMs = performance.now();
    const answer = await ask(model, 200, path);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(WAIT_MS - 20);
    expect(answer.status).toBe(429);
    expect([answer.headers.get('retry-after'), answer.headers.get('x-should-retry')]).toEqual([
      '1',
      'true',
    ]);
    expect(await answer.json()).toMatchObject(shape);
  },
);

test('when the wallet cannot pay, the request that waits is refused at once', async () => {
  const model = await modelWith(0);
  await node.arm(model, { threshold: 0, amount: 5_000 });
  const refused = ask(model);
  await someoneWaits();
  const disarmedMs = performance.now();
  await node.arm(model);
  expect(await (await refused).json()).toMatchObject({ error: { code: 'insufficient_quota' } });
  expect(performance.now() - disarmedMs).toBeLessThan(WAIT_MS / 2);
});

test('an output is shortened where no purchase is due, and where a due one does not bring all of it', async () => {
  const model = await modelWith(PROMPT_MAX + 150);
  await node.arm(model, { threshold: 10, amount: 5_000 });
  expect((await ask(model, 1_000)).status).toBe(200);
  const notDue = limitsSent().at(-1) as number;
  expect(notDue).toBeGreaterThan(150);
  expect(notDue).toBeLessThan(1_000);
  await node.arm(model, { threshold: 10_000, amount: 11_000 });
  expect((await ask(model, 50_000)).status).toBe(200);
  expect(limitsSent().at(-1)).toBeLessThan(1_000);
});

test('a client that leaves ends its wait', async () => {
  const model = await modelWith(0);
  await node.arm(model, { threshold: 0, amount: 5_000 });
  const leaving = new AbortController();
  const gone = globalThis
    .fetch(`${node.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${node.apiKey}` },
      body: JSON.stringify({ model: model.name, messages: [{ role: 'user', content: 'hello' }] }),
      signal: leaving.signal,
    })
    .catch(() => 'gone');
  await someoneWaits();
  const leftMs = performance.now();
  leaving.abort();
  expect(await gone).toBe('gone');
  await until('no request waits', async () => (await waiting()) === 0);
  expect(performance.now() - leftMs).toBeLessThan(WAIT_MS / 2);
});
