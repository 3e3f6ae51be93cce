import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  createCustomer,
  createRoutedModel,
  startTollgate,
  type Customer,
  type RoutedModel,
  type Tollgate,
  until,
  letPass,
} from '@tollgate/harness';
import {
  EpochCache,
  Epochs,
  FunctionLibrary,
  LiveRecords,
  openRedis,
  redisReady,
  type RedisConnection,
} from '@tollgate/keyspace';

/**
 * Measures the most that one account can cost a fleet: several keys, two nodes of two processes each, and an upstream that ignores the limits it is given or generates
 * what it does not show. docs/reliability.md states the bounds that are tried here.
 */
const KEYS = 4;
const AT_ONCE = 48;
const PROMPT_TOKENS = 7;
/** Is the output that a stream holds before it has shown any. */
const SLICE = 4_096;
/** Is long enough that every request of a volley is admitted, or refused, before the first is charged. */
const THINKING_MS = 3_000;

let tollgate: Tollgate;
let upstream: Server;
let redis: RedisConnection;
let live: LiveRecords;
beforeAll(async () => {
  upstream = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => void answer(JSON.parse(Buffer.concat(chunks).toString()), response));
  });
  await new Promise<void>((resolve) => void upstream.listen(0, '127.0.0.1', resolve));
  tollgate = await startTollgate({ nodes: 2, workers: 2 });
  redis = openRedis(tollgate.redisUrl, { role: 'plain', name: 'spec', onError: () => undefined });
  await redisReady(redis, 5_000);
  live = new LiveRecords({
    redis,
    library: new FunctionLibrary(redis),
    epochs: new EpochCache(new Epochs(redis)),
    shards: tollgate.shards,
  });
}, 120_000);
afterAll(async () => {
  redis?.disconnect();
  upstream?.closeAllConnections();
  upstream?.close();
  await tollgate?.stop();
}, 60_000);

interface Body {
  stream?: boolean;
  max_tokens?: number;
  messages: { content: string }[];
}

/** Answers JSON with twenty times the limit, all of it delivered, and a stream with a word and all that the limit allows, generated unseen before it. */
async function answer(
  { stream, max_tokens: limit = 0 }: Body,
  response: ServerResponse,
): Promise<void> {
  await letPass(THINKING_MS, 'every request is admitted before the first one ends');
  const tokens = stream === true ? limit : 20 * limit;
  const content = stream === true ? 'done' : ' word'.repeat(tokens);
  const usage = {
    prompt_tokens: PROMPT_TOKENS,
    completion_tokens: tokens,
    total_tokens: PROMPT_TOKENS + tokens,
  };
  const head = { id: 'c1', created: 1, model: 'real' };
  if (stream !== true) {
    const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
    response.writeHead(200, { 'content-type': 'application/json' });
    return void response.end(
      JSON.stringify({ ...head, object: 'chat.completion', choices, usage }),
    );
  }
  const event = (more: object): string =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...more })}\n\n`;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(event({ choices: [{ index: 0, delta: { content }, finish_reason: null }] }));
  response.write(event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
  response.end(`${event({ choices: [], usage })}data: [DONE]\n\n`);
}

async function openModel(): Promise<RoutedModel> {
  const model = await createRoutedModel(tollgate, { protocols: [] });
  const upstream_id = await tollgate.admin.createUpstream({
    name: `greedy-${model.id}`,
    protocol: 'openai',
    base_url: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`,
    api_key: 'secret',
  });
  await tollgate.admin.createRoute({ model_id: model.id, upstream_id, upstream_model: 'gpt-4' });
  await tollgate.admin.syncAll();
  return model;
}

/** Sends each request by another key and another process. */
async function volley(keys: readonly string[], body: object): Promise<number[]> {
  return Promise.all(
    Array.from({ length: AT_ONCE }, async (_, at) => {
      const origin = tollgate.nodeUrls[at % tollgate.nodeUrls.length];
      const response = await fetch(`${origin}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${keys[at % keys.length]}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify(body),
      });
      await response.text();
      return response.status;
    }),
  );
}

async function accountWith(model: RoutedModel, tokens: number) {
  const customer = await createCustomer(tollgate);
  await customer.client.subscribe({ model_id: model.id, tokens });
  const keys = await Promise.all(
    Array.from({ length: KEYS }, (_, at) =>
      customer.client.createKey({
        name: `key-${at}`,
        allowed_models: '*',
        rpm: 0,
        rph: 0,
        rpd: 0,
      }),
    ),
  );
  return { customer, keys: keys.map(({ key }) => key) };
}

/** Returns the balance once nothing is held and all is booked: below zero by the account's debt. */
async function settledBalance(
  { id }: Customer,
  { model, requests }: { model: RoutedModel; requests: number },
): Promise<number> {
  return until(`${requests} booked requests`, async () => {
    const rows = await tollgate.admin.list(`/usage/logs?user_id=${id}`);
    const [books] = await live.getBalances([{ accountId: id, modelId: model.id }]);
    return rows.length === requests && books?.held === 0 ? books.balance : undefined;
  });
}

const served = (statuses: readonly number[]): number =>
  statuses.filter((status) => status === 200).length;

test('an upstream that ignores limits: the answers that all processes together had admitted, and not one more', async () => {
  const limit = 50;
  const bought = 600;
  const model = await openModel();
  const { customer, keys } = await accountWith(model, bought);
  const body = {
    model: model.name,
    max_tokens: limit,
    messages: [{ role: 'user', content: 'go' }],
  };
  const first = served(await volley(keys, body));
  expect(first).toBeGreaterThan(1);
  // All processes hold from one balance.
  expect(first).toBeLessThanOrEqual(bought / (PROMPT_TOKENS + limit));
  const balance = await settledBalance(customer, { model, requests: first });
  const overrun = 19 * limit;
  expect(balance).toBeLessThan(0);
  expect(balance).toBeGreaterThanOrEqual(-first * overrun);
  // A process that has not seen the upstream overrun serves nothing of it either.
  expect(served(await volley(keys, body))).toBe(0);
  expect(await settledBalance(customer, { model, requests: first })).toBe(balance);
}, 120_000);

test('hidden output of streams: the limit that was given less the slice that was held, for each stream that runs', async () => {
  const limit = 4 * SLICE;
  const bought = 5 * (SLICE + PROMPT_TOKENS);
  const model = await openModel();
  const { customer, keys } = await accountWith(model, bought);
  const body = {
    model: model.name,
    stream: true,
    max_tokens: limit,
    messages: [{ role: 'user', content: 'go' }],
  };
  const first = served(await volley(keys, body));
  expect(first).toBeGreaterThan(1);
  const balance = await settledBalance(customer, { model, requests: first });
  expect(balance).toBeLessThan(0);
  expect(balance).toBeGreaterThanOrEqual(-first * (limit - SLICE));
  expect(first).toBeLessThanOrEqual(Math.ceil(bought / SLICE));
  expect(served(await volley(keys, body))).toBe(0);
  expect(await settledBalance(customer, { model, requests: first })).toBe(balance);
}, 120_000);
