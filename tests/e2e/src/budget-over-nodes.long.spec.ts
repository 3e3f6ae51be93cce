import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  createCustomer,
  createRoutedModel,
  eventually,
  startTollgate,
  subscribeWithKey,
  type Customer,
  type RoutedModel,
  type Tollgate,
} from '@tollgate/harness';
import {
  LiveBudgets,
  keysLike,
  openRedis,
  redisReady,
  type RedisConnection,
} from '@tollgate/keyspace';
import { z } from 'zod';

const CALLERS = 1_000;
const AFFORDABLE = 100;
/** Is the number of tokens that the provider reports for one request. A report below the text of the prompt is doubted, and charges then differ. */
const PROMPT = 8;
/** Is long beside the 1,000 tokens by which a hold bounds a prompt: the last request needs that much room. */
const OUTPUT = 2_000;
const ANSWER_AFTER_MS = 50;
const SAMPLED_EVERY_MS = 10;
/** Is the wait that the refusal names, and up to three times as much again: a thousand callers do not come back at once. */
const RETRY_MS = 1_000;

/** Starts a provider whose answers are as long as they may be. */
function openUpstream(): Server {
  return createServer((request: IncomingMessage, response) => {
    void text(request).then(async (body) => {
      const { max_tokens: most } = z
        .looseObject({ max_tokens: z.number() })
        .parse(JSON.parse(body));
      await pause(ANSWER_AFTER_MS);
      const usage = {
        prompt_tokens: PROMPT,
        completion_tokens: most,
        total_tokens: PROMPT + most,
      };
      const message = { role: 'assistant', content: 'ok' };
      const choices = [{ index: 0, message, finish_reason: 'length' }];
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({
          id: 'c',
          object: 'chat.completion',
          created: 1,
          model: 'm',
          choices,
          usage,
        }),
      );
    });
  });
}

const upstream = openUpstream();
let tollgate: Tollgate;
let redis: RedisConnection;
let customer: Customer;
let model: RoutedModel;
let key: string;
beforeAll(async () => {
  tollgate = await startTollgate({ nodes: 3 });
  model = await createRoutedModel(tollgate, { protocols: [] });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const upstream_id = await tollgate.admin.createUpstream({
    name: 'long-answers',
    protocol: 'openai',
    base_url: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`,
  });
  await tollgate.admin.createRoute({ model_id: model.id, upstream_id, upstream_model: 'm' });
  customer = await createCustomer(tollgate);
  key = await subscribeWithKey(customer, { modelIds: [model.id], tokens: 50_000_000 });
  await tollgate.admin.syncAll();
  redis = openRedis(tollgate.redisUrl, { role: 'plain', name: 'spec', onError: () => {} });
  await redisReady(redis, 10_000);
}, 60_000);
afterAll(async () => {
  redis?.disconnect();
  upstream.closeAllConnections();
  upstream.close();
  await tollgate?.stop();
}, 30_000);

/** Asks until it is answered or refused for good. Returns whether it was answered. */
async function ask(url: string): Promise<boolean> {
  for (;;) {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: model.name,
        max_tokens: OUTPUT,
        messages: [{ role: 'user', content: 'Hi' }],
      }),
    });
    await response.text();
    if (response.status === 200) return true;
    expect(response.status).toBe(429);
    // Too many requests at a time are refused for a moment too.
    if (response.headers.get('x-should-retry') === 'false') return false;
    await pause(RETRY_MS * (1 + 3 * Math.random()));
  }
}

async function setBudget(amount: number, action: 'notify' | 'refuse'): Promise<number> {
  const budget = await customer.client.call('POST', '/budgets', {
    ...{ scope: { user_id: customer.id }, unit: 'charged_tokens', period: 'none' },
    ...{ amount, action },
  });
  return z.looseObject({ id: z.number() }).parse(budget).id;
}

/** Reads what is used and held of one budget until it is stopped. */
class Sampler {
  most = 0;
  looks = 0;
  readonly #live: LiveBudgets;
  readonly #id: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(live: LiveBudgets, id: number) {
    this.#live = live;
    this.#id = id;
    this.#timer = setInterval(() => void this.#look(), SAMPLED_EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const counted = await countOf(this.#live, this.#id);
    this.most = Math.max(this.most, counted.used + counted.held);
    this.looks += 1;
  }
}

async function countOf(live: LiveBudgets, id: number): Promise<{ used: number; held: number }> {
  const found = (await live.read(customer.id)).find(({ budgetId }) => budgetId === id);
  return { used: found?.used ?? 0, held: found?.held ?? 0 };
}

/** Waits until no request holds any of a budget, and returns what was used of it. */
async function usedOf(live: LiveBudgets, id: number): Promise<number> {
  await eventually(async () => {
    const { used, held } = await countOf(live, id);
    expect([used > 0, held]).toEqual([true, 0]);
  });
  return (await countOf(live, id)).used;
}

test('1,000 requests at once over three nodes never use and hold more than a budget for 100, and at least 97 of the 100 complete', async () => {
  // The epochs of the shards tell how many there are.
  const shards = (await keysLike(redis, '*:epoch')).length;
  const live = new LiveBudgets({ redis, shards });
  const [first = ''] = tollgate.nodeUrls;
  const alone = await setBudget(10_000_000, 'notify');
  expect(await ask(first)).toBe(true);
  const amount = AFFORDABLE * (await usedOf(live, alone));

  const budget = await setBudget(amount, 'refuse');
  const sampler = new Sampler(live, budget);
  const answered = await Promise.all(
    Array.from({ length: CALLERS }, (_, nth) =>
      ask(tollgate.nodeUrls[nth % tollgate.nodeUrls.length] ?? first),
    ),
  );
  const used = await usedOf(live, budget);
  sampler.stop();
  expect(answered.filter(Boolean).length).toBeGreaterThanOrEqual(AFFORDABLE - 3);
  expect(sampler.most).toBeGreaterThan(amount / 2);
  expect(sampler.most).toBeLessThanOrEqual(amount);
  expect(sampler.looks).toBeGreaterThan(50);
  await eventually(async () => {
    const usage = await customer.client.call('GET', `/budgets/usage?ids=${budget}`);
    expect(usage).toMatchObject({ data: [{ used: String(used), live: { held: '0' } }] });
  });
}, 240_000);
