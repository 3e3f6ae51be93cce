import Anthropic from '@anthropic-ai/sdk';
import { wordsUpTo } from '@tollgate/demo-upstream';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  createCustomer,
  createRoutedModel,
  startTollgate,
  subscribeWithKey,
  type Customer,
  type RoutedModel,
  type Tollgate,
} from '@tollgate/harness';
import OpenAI from 'openai';
import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { balanceOf, recordOf, settledRows } from './books.ts';

/** The official clients against real nodes, PostgreSQL, Redis and BullMQ; the demo upstream is the provider. */
let tollgate: Tollgate;
let customer: Customer;
let chat: RoutedModel;
let embedding: RoutedModel;
/** Of an upstream that speaks /v1/responses. */
let native: RoutedModel;
let key: string;

const PATHS = ['front door', 'first node', 'second node'] as const;
type Path = (typeof PATHS)[number];
const TOKENS = 1_000_000;

beforeAll(async () => {
  tollgate = await startTollgate({ nodes: 2, frontDoor: true });
  customer = await createCustomer(tollgate);
  chat = await createRoutedModel(tollgate);
  embedding = await createRoutedModel(tollgate, { kind: 'embedding' });
  native = await createRoutedModel(tollgate, {
    protocols: ['openai'],
    upstream: { endpoints: ['responses'] },
    context_window: 10_000,
  });
  const modelIds = [chat.id, embedding.id, native.id];
  key = await subscribeWithKey(customer, { modelIds, tokens: TOKENS });
  const { nodes } = await tollgate.admin.syncAll();
  expect(nodes.map((node) => node.outcome)).toEqual(['applied', 'applied']);
}, 60_000);
afterAll(() => tollgate?.stop(), 30_000);

function originOf(path: Path): string {
  const url =
    path === 'front door'
      ? tollgate.frontDoorUrl
      : tollgate.nodeUrls[path === 'first node' ? 0 : 1];
  if (url === undefined) throw new Error(`no ${path}`);
  return url;
}
function openai(path: Path = 'front door', apiKey = key): OpenAI {
  return new OpenAI({ baseURL: `${originOf(path)}/v1`, apiKey, maxRetries: 0 });
}
function anthropic(path: Path = 'front door', apiKey = key): Anthropic {
  return new Anthropic({ baseURL: originOf(path), apiKey, maxRetries: 0 });
}
const say = (content: string): { role: 'user'; content: string }[] => [{ role: 'user', content }];

describe.each(PATHS)('through the %s', (path) => {
  test('chat completions answer JSON whose usage is what leaves the balance', async () => {
    const before = await balanceOf(tollgate, customer, chat.id);
    const { data, response } = await openai(path)
      .chat.completions.create({ model: chat.name, messages: say('@demo tokens=9') })
      .withResponse();
    const rid = response.headers.get('x-request-id');
    expect(rid).toBe(response.headers.get('request-id'));
    expect(data.model).toBe(chat.name);
    expect(data.usage?.completion_tokens).toBe(9);
    const [row] = await settledRows(tollgate, rid ?? '');
    expect(row).toMatchObject({
      input_tokens: data.usage?.prompt_tokens,
      output_tokens: 9,
      charge: data.usage?.total_tokens,
      basis: 'reported',
      outcome: 'completed',
    });
    const reported = (await recordOf(tollgate, rid ?? '')).reported;
    expect(reported).toEqual({ prompt: data.usage?.prompt_tokens, output: 9 });
    expect(before - (await balanceOf(tollgate, customer, chat.id))).toBe(data.usage?.total_tokens);
  });

  test('chat completions stream without usage that was not requested, and are charged exactly', async () => {
    const { data, response } = await openai(path)
      .chat.completions.create({ model: chat.name, stream: true, messages: say('@demo tokens=12') })
      .withResponse();
    let words = 0;
    for await (const chunk of data) {
      expect(chunk).not.toHaveProperty('usage');
      expect(chunk.model).toBe(chat.name);
      if (chunk.choices[0]?.delta.content) words += 1;
    }
    expect(words).toBe(12);
    const rid = response.headers.get('x-request-id') ?? '';
    const reported = (await recordOf(tollgate, rid)).reported;
    const [row] = await settledRows(tollgate, rid);
    expect(row).toMatchObject({
      input_tokens: reported?.prompt,
      output_tokens: reported?.output,
      basis: 'reported',
      is_stream: true,
    });
  });

  test('a chat stream shows one usage chunk last when it was asked for', async () => {
    const stream = await openai(path).chat.completions.create({
      model: chat.name,
      stream: true,
      stream_options: { include_usage: true },
      messages: say('@demo tokens=5'),
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    const last = chunks.at(-1);
    expect(last?.choices).toEqual([]);
    expect(last?.usage?.completion_tokens).toBe(5);
    expect(chunks.filter((chunk) => chunk.usage)).toHaveLength(1);
  });

  test('messages answer JSON and streams through the Anthropic SDK, charged exactly', async () => {
    const { data, response } = await anthropic(path)
      .messages.create({ model: chat.name, max_tokens: 50, messages: say('@demo tokens=7') })
      .withResponse();
    expect(data.usage.output_tokens).toBe(7);
    const [row] = await settledRows(tollgate, response.headers.get('request-id') ?? '');
    expect(row).toMatchObject({
      input_tokens: data.usage.input_tokens,
      output_tokens: 7,
      protocol: 'messages',
    });

    const stream = anthropic(path).messages.stream({
      model: chat.name,
      max_tokens: 50,
      messages: say('@demo tokens=11'),
    });
    const message = await stream.finalMessage();
    expect(message.usage.output_tokens).toBe(11);
    expect(message.model).toBe(chat.name);
    expect(message.stop_reason).toBe('end_turn');
    const [streamed] = await settledRows(tollgate, stream.request_id ?? '');
    expect(streamed).toMatchObject({
      input_tokens: message.usage.input_tokens,
      output_tokens: 11,
      is_stream: true,
    });
  });

  test('embeddings answer in the format the SDK asks for', async () => {
    const list = await openai(path).embeddings.create({
      model: embedding.name,
      input: ['one gate', 'two gates'],
    });
    expect(list.data.map((item) => item.embedding.length)).toEqual([8, 8]);
    const floats = await openai(path).embeddings.create({
      model: embedding.name,
      input: 'one gate',
      encoding_format: 'float',
    });
    expect(floats.data[0]?.embedding).toEqual(list.data[0]?.embedding);
  });

  test('the model list holds what the account subscribed to, in both SDKs', async () => {
    const names = [chat.name, embedding.name, native.name].toSorted();
    expect((await openai(path).models.list()).data.map((model) => model.id).toSorted()).toEqual(
      names,
    );
    expect((await anthropic(path).models.list()).data.map((model) => model.id).toSorted()).toEqual(
      names,
    );
  });

  test("a bad key is 401 in each protocol's own words", async () => {
    const bad = `${key.slice(0, -4)}AAAA`;
    await expect(
      openai(path, bad).chat.completions.create({ model: chat.name, messages: say('hi') }),
    ).rejects.toMatchObject({ status: 401, code: 'invalid_api_key' });
    await expect(
      anthropic(path, bad).messages.create({
        model: chat.name,
        max_tokens: 5,
        messages: say('hi'),
      }),
    ).rejects.toMatchObject({
      status: 401,
      error: { type: 'error', error: { type: 'authentication_error' } },
    });
  });

  test("an unknown model is 404 in each protocol's own words", async () => {
    await expect(
      openai(path).chat.completions.create({ model: 'no-such-model', messages: say('hi') }),
    ).rejects.toMatchObject({ status: 404, code: 'model_not_found' });
    await expect(
      anthropic(path).messages.create({
        model: 'no-such-model',
        max_tokens: 5,
        messages: say('hi'),
      }),
    ).rejects.toMatchObject({
      status: 404,
      error: { error: { type: 'not_found_error' } },
    });
  });
});

describe('responses in the background', () => {
  async function begin(input: string): Promise<{ begun: OpenAI.Responses.Response; rid: string }> {
    const { data, request_id: rid } = await openai()
      .responses.create({ model: native.name, input, background: true })
      .withResponse();
    return { begun: data, rid: rid ?? '' };
  }

  async function over(id: string): Promise<OpenAI.Responses.Response> {
    for (;;) {
      const response = await openai().responses.retrieve(id);
      if (response.status !== 'queued' && response.status !== 'in_progress') return response;
      await delay(100);
    }
  }

  test('are begun, polled by their id through any node, and charged what the provider reports', async () => {
    const { begun, rid } = await begin('@demo tokens=9 delay=40');
    expect(begun).toMatchObject({ status: 'queued', background: true, model: native.name });
    const ended = await over(begun.id);
    expect(ended).toMatchObject({ id: begun.id, status: 'completed', output_text: wordsUpTo(9) });
    const [row] = await settledRows(tollgate, rid);
    expect(row).toMatchObject({
      input_tokens: ended.usage?.input_tokens,
      output_tokens: 9,
      charge: ended.usage?.total_tokens,
      basis: 'reported',
      outcome: 'completed',
    });
  }, 30_000);

  test('are cancelled and deleted', async () => {
    const { begun, rid } = await begin('@demo tokens=500 delay=50');
    expect((await openai().responses.cancel(begun.id)).status).toBe('cancelled');
    expect((await over(begun.id)).status).toBe('cancelled');
    const [row] = await settledRows(tollgate, rid);
    expect(row).toMatchObject({ outcome: 'client_closed', output_tokens: 0 });
    await openai().responses.delete(begun.id);
    await expect(openai().responses.retrieve(begun.id)).rejects.toMatchObject({ status: 404 });
  }, 30_000);

  test('are streamed, left, and resumed after the last event that came', async () => {
    const stream = await openai().responses.create({
      model: native.name,
      input: '@demo tokens=12 delay=40',
      background: true,
      stream: true,
    });
    let id = '';
    let last = -1;
    let text = '';
    for await (const event of stream) {
      if (event.type === 'response.created') ({ id } = event.response);
      last = event.sequence_number;
      if (event.type !== 'response.output_text.delta') continue;
      text += event.delta;
      break;
    }
    const rest = await openai('second node').responses.retrieve(id, {
      stream: true,
      starting_after: last,
    });
    for await (const event of rest)
      if (event.type === 'response.output_text.delta') text += event.delta;
    expect(text).toBe(wordsUpTo(12));
  }, 30_000);
});

describe('a body over the limit', () => {
  const tooLarge = say('x'.repeat(33 * 1024 * 1024));

  test.each(['front door', 'first node'] as const)(
    'is 413 in both SDKs through the %s, so that they do not send it again',
    async (path) => {
      await expect(
        openai(path).chat.completions.create({ model: chat.name, messages: tooLarge }),
      ).rejects.toMatchObject({ status: 413, code: 'request_too_large' });
      await expect(
        anthropic(path).messages.create({ model: chat.name, max_tokens: 5, messages: tooLarge }),
      ).rejects.toMatchObject({ status: 413, type: 'request_too_large' });
    },
  );

  test('is 413 while the client is still sending, whose connection then serves its next request', async () => {
    const paths = ['front door', 'first node'] as const;
    const answers = await Promise.all(
      paths.map((path) => slowUpload(new URL('/v1/chat/completions', originOf(path)))),
    );
    const served = { status: 413, next: 404, isSameConnection: true };
    expect(answers).toEqual([served, served]);
  });

  test('is 413 at the administration interface through the front door', async () => {
    const { status } = await fetch(`${originOf('front door')}/admin-api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'x'.repeat(33 * 1024 * 1024) }),
    });
    expect(status).toBe(413);
  });
});

/** Sends a chunked body over the limit, goes on for a second after the answer, ends it, and asks for a path that does not exist on the same connection. */
async function slowUpload(
  url: URL,
): Promise<{ status: number | undefined; next: number | undefined; isSameConnection: boolean }> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const options = {
    agent,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  };
  const upload = httpRequest(url, { ...options, method: 'POST' });
  const answer = once(upload, 'response') as Promise<[IncomingMessage]>;
  const piece = Buffer.alloc(1024 * 1024, ' ');
  for (let sent = 0; sent < 33; sent++) if (!upload.write(piece)) await once(upload, 'drain');
  const [response] = await answer;
  response.resume();
  for (let rest = 0; rest < 10; rest++) {
    await delay(100);
    upload.write(piece);
  }
  upload.end();
  await once(upload, 'close');
  const after = httpRequest(new URL('/v1/no-such-path', url), options).end();
  const [next] = (await once(after, 'response')) as [IncomingMessage];
  next.resume();
  agent.destroy();
  return {
    status: response.statusCode,
    next: next.statusCode,
    isSameConnection: after.reusedSocket,
  };
}

test('a key with rpm 3 lets exactly 3 through across both nodes, then says when to come back', async () => {
  const limited = (await customer.client.createKey({ name: 'three a minute', rpm: 3 })).key;
  const paths: Path[] = [
    'first node',
    'second node',
    'first node',
    'second node',
    'first node',
    'front door',
  ];
  const results = await Promise.allSettled(
    paths.map((path) =>
      openai(path, limited).chat.completions.create({
        model: chat.name,
        messages: say('@demo tokens=1'),
      }),
    ),
  );
  const refused = results.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as InstanceType<typeof OpenAI.APIError>] : [],
  );
  expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(3);
  for (const error of refused) {
    expect(error).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    expect(Number(error.headers?.get('retry-after'))).toBeGreaterThan(0);
    expect(Number(error.headers?.get('retry-after'))).toBeLessThanOrEqual(60);
    expect(error.headers?.get('x-ratelimit-limit-requests')).toBe('3');
  }
});

test('an empty balance is insufficient_quota on chat and billing_error on messages, and costs nothing', async () => {
  const poor = await createCustomer(tollgate);
  const poorKey = await subscribeWithKey(poor, { modelIds: [chat.id], tokens: 3 });
  await expect(
    openai('first node', poorKey).chat.completions.create({
      model: chat.name,
      messages: say('a longer question than three tokens'),
    }),
  ).rejects.toMatchObject({
    status: 429,
    code: 'insufficient_quota',
  });
  await expect(
    anthropic('second node', poorKey).messages.create({
      model: chat.name,
      max_tokens: 5,
      messages: say('a longer question than three tokens'),
    }),
  ).rejects.toMatchObject({
    status: 402,
    error: { error: { type: 'billing_error' } },
  });
  expect(await balanceOf(tollgate, poor, chat.id)).toBe(3);
});

test('a disabled key is refused by every node on the very next request', async () => {
  const { id, key: doomed } = await customer.client.createKey({ name: 'doomed' });
  await openai('second node', doomed).chat.completions.create({
    model: chat.name,
    messages: say('@demo tokens=1'),
  });
  await customer.client.call('POST', `/keys/${id}/disable`);
  for (const path of PATHS)
    await expect(openai(path, doomed).models.list()).rejects.toMatchObject({ status: 401 });
  for (const path of PATHS)
    await expect(
      openai(path, doomed).chat.completions.create({ model: chat.name, messages: say('hi') }),
    ).rejects.toMatchObject({ status: 401 });
});

test('the first administrator may subscribe and call with an own key', async () => {
  const { admin } = tollgate;
  await admin.call('POST', '/wallet/recharge', { amount: '10' });
  await admin.subscribe({ model_id: chat.id, tokens: 1_000 });
  const { key: own } = await admin.createKey({ name: 'own' });
  const answer = await openai('first node', own).chat.completions.create({
    model: chat.name,
    messages: say('@demo tokens=2'),
  });
  expect(answer.usage?.completion_tokens).toBe(2);
});
