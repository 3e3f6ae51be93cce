import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openRedis, primariesOf, redisReady } from '@tollgate/keyspace';
import type { SnapshotModel } from '@tollgate/snapshot';
import { until } from '@tollgate/harness';
import { startLocalUpstream, type LocalUpstream } from '../testing/local-upstream.ts';
import {
  ACCOUNT_ID,
  NODE_CREDENTIAL,
  startNodeUnderTest,
  type NodeUnderTest,
} from '../testing/node-under-test.ts';

const TOKENS = 1_000_000;
const ALLOWANCE = 1_000;
const CHARGE = 60;
let node: NodeUnderTest;
let upstream: LocalUpstream;
let speaker: LocalUpstream;
let model: SnapshotModel;

beforeAll(async () => {
  node = await startNodeUnderTest({
    FAIL_OPEN_TOKENS: String(ALLOWANCE),
    STREAM_SLICE_OUTPUT_TOKENS: '100',
  });
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
        usage: { prompt_tokens: 10, completion_tokens: 50, total_tokens: CHARGE },
      }),
    );
  });
  const event = (data: unknown): string =>
    `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
  const chunk = (content: string, finish: string | null = null): string =>
    event({
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'x',
      choices: [{ index: 0, delta: { content }, finish_reason: finish }],
    });
  speaker = await startLocalUpstream((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let word = 0; word < 200; word += 1) response.write(chunk('word '));
    response.end(chunk('', 'stop') + event('[DONE]'));
  });
  model = await node.addModel([{ baseUrl: upstream.baseUrl }], {}, TOKENS);
});
afterAll(async () => {
  await node.stop();
  await Promise.all([upstream, speaker].map((each) => each.close()));
});

const ask = async (key?: string): Promise<number> => {
  const response = await node.post(
    '/v1/chat/completions',
    { model: model.name, max_tokens: 50, messages: [{ role: 'user', content: 'go' }] },
    key ? { authorization: `Bearer ${key}` } : {},
  );
  await response.arrayBuffer();
  return response.status;
};
const question = (): string =>
  JSON.stringify({
    model: model.name,
    max_tokens: 50,
    messages: [{ role: 'user', content: 'go' }],
  });
const send = async (
  body: NonNullable<RequestInit['body']>,
  key: string,
  headers: Record<string, string> = {},
): Promise<number> => {
  const response = await fetch(`${node.url}/v1/chat/completions`, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    duplex: 'half',
  });
  await response.arrayBuffer();
  return response.status;
};
const padded = (key: string): Promise<number> => send(question() + ' '.repeat(100_000), key);
const chunked = (key: string): Promise<number> => send(new Blob([question()]).stream(), key);
const zipped = (key: string): Promise<number> =>
  send(gzipSync(question()), key, { 'content-encoding': 'gzip' });
const malformed = (): Promise<number> => send('{', node.apiKey);
const isReady = async (): Promise<boolean> => (await fetch(`${node.url}/readyz`)).status === 200;
const metric = async (name: string): Promise<number> => {
  const text = await (
    await fetch(`${node.url}/metrics`, { headers: { authorization: `Bearer ${NODE_CREDENTIAL}` } })
  ).text();
  return Number(new RegExp(`^${name}(?:{[^}]*})? (\\S+)$`, 'm').exec(text)?.[1]);
};

test('with an allowance, a known key is served while Redis is away: up to the allowance and not a token more; afterwards the balance is exact', async () => {
  const limited = await node.putKey({ rpm: 1_000 });
  const stranger = await node.putKey({});
  const before = [await ask(), await ask(limited.key)];
  expect(before).toEqual([200, 200]);
  await node.services.redis.stop();
  await until('an unknown key is refused', async () => (await ask(stranger.key)) === 503);
  expect(await isReady()).toBe(true);
  expect([await ask(limited.key), await ask(stranger.key)]).toEqual([503, 503]);
  // Their keys are judged before their bodies are read.
  for (const send of [padded, chunked, zipped])
    expect([await send(stranger.key), await send(node.apiKey)]).toEqual([503, 200]);
  expect(await malformed()).toBe(400);

  const early = 3;
  const statuses: number[] = [];
  for (let round = 0; round < 5; round += 1)
    statuses.push(...(await Promise.all(Array.from({ length: 10 }, () => ask()))));
  const served = early + statuses.filter((status) => status === 200).length;
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
  expect(served * CHARGE).toBeLessThanOrEqual(ALLOWANCE);
  // Less is left than one more hold: 50 of output and a prompt of a few bytes.
  expect(served * CHARGE).toBeGreaterThan(ALLOWANCE - 200);
  expect([
    await metric('tollgate_fail_open_admissions'),
    await metric('tollgate_fail_open_tokens'),
  ]).toEqual([served, served * CHARGE]);

  await node.services.redis.start();
  await until(
    'the allowance is returned',
    async () => (await metric('tollgate_fail_open_tokens')) === 0,
  );
  expect(await node.settledBalance(model)).toBe(TOKENS - (before.length + served) * CHARGE);
  expect(await ask()).toBe(200);

  await node.live.putKey(node.keyRecord({ status: 'disabled', revision: 2 }));
  expect(await ask()).toBe(401);
  await node.services.redis.stop();
  await until('an unknown key is refused', async () => (await ask(stranger.key)) === 503);
  expect(await ask()).toBe(503);
  await node.services.redis.start();
  await until('balances can be read', () =>
    node.live.getBalances([{ accountId: ACCOUNT_ID, modelId: model.id }]).then(
      () => true,
      () => false,
    ),
  );
}, 60_000);

test('a Redis that answers with an error is not one that is away: nothing is admitted alone', async () => {
  const { key } = await node.putKey({});
  expect(await ask(key)).toBe(200);
  const admissions = await metric('tollgate_fail_open_admissions');
  const redis = openRedis(node.services.redisUrl, {
    role: 'plain',
    name: 'spec',
    onError: () => undefined,
  });
  await redisReady(redis, 5_000);
  const needReplicas = (count: string): Promise<unknown> =>
    Promise.all(
      primariesOf(redis).map((primary) => primary.config('SET', 'min-replicas-to-write', count)),
    );
  try {
    await needReplicas('1');
    expect(await ask(key)).toBe(503);
    await needReplicas('0');
    await until('the key is served again', async () => (await ask(key)) === 200);
  } finally {
    redis.disconnect();
  }
  expect(await metric('tollgate_fail_open_admissions')).toBe(admissions);
}, 60_000);

test('a stream that began without Redis gets its first slice, waits, and goes on once Redis is back', async () => {
  const spoken = await node.addModel([{ baseUrl: speaker.baseUrl }], {}, TOKENS);
  const { key } = await node.putKey({});
  const authorization = `Bearer ${key}`;
  const stream = (): Promise<Response> =>
    node.post(
      '/v1/chat/completions',
      { model: spoken.name, stream: true, messages: [{ role: 'user', content: 'go' }] },
      { authorization },
    );
  const whole = await (await stream()).text();
  const charged = TOKENS - (await node.settledBalance(spoken));
  await node.services.redis.stop();
  await until(
    'models are not listed',
    async () => !(await fetch(`${node.url}/v1/models`, { headers: { authorization } })).ok,
  );
  const alone = await stream();
  expect(alone.status).toBe(200);
  const reading = alone.text();
  await node.services.redis.start();
  expect(await reading).toBe(whole);
  expect(await node.settledBalance(spoken)).toBe(TOKENS - 2 * charged);
}, 60_000);
