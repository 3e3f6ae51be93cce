import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createDemoUpstream, wordsUpTo } from '@tollgate/demo-upstream';
import {
  startNodeUnderTest,
  type NodeUnderTest,
} from '../../../apps/proxy-node/src/testing/node-under-test.ts';

type SnapshotModel = Awaited<ReturnType<NodeUnderTest['addModel']>>;

const BOUGHT = 1_000_000;
const { server, record } = createDemoUpstream();

let node: NodeUnderTest;
let baseUrl: string;
let model: SnapshotModel;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  node = await startNodeUnderTest();
  model = await native();
});
afterAll(async () => {
  await node.stop();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** A model of an upstream that speaks /v1/responses. */
function native(change: Partial<SnapshotModel> = {}): Promise<SnapshotModel> {
  const upstream = { baseUrl, overrides: { endpoints: ['responses' as const] } };
  return node.addModel([upstream], { context_window: 10_000, ...change }, BOUGHT);
}

type Loose = ReturnType<typeof JSON.parse>;

interface Answered {
  status: number;
  body: Loose;
  rid: string | null;
}

async function ask(fields: object, key = node.apiKey): Promise<Answered> {
  return call('POST', '/v1/responses', {
    key,
    body: { model: model.name, input: 'hi', ...fields },
  });
}

async function call(
  method: string,
  path: string,
  { key = node.apiKey, body }: { key?: string; body?: object } = {},
): Promise<Answered> {
  const response = await fetch(`${node.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const rid = response.headers.get('x-request-id');
  return { status: response.status, body: text === '' ? null : JSON.parse(text), rid };
}

async function streamed(fields: object): Promise<{ text: string; events: Loose[]; rid: string }> {
  const response = await node.post('/v1/responses', {
    model: model.name,
    input: '@demo tokens=4',
    stream: true,
    ...fields,
  });
  const text = await response.text();
  const data = text.split('\n').filter((line) => line.startsWith('data: '));
  return {
    text,
    events: data.map((line): Loose => JSON.parse(line.slice('data: '.length))),
    rid: response.headers.get('x-request-id') ?? '',
  };
}

const ofProvider = (rid: string | null) => record.list(rid ?? '').at(-1);

describe('an answer of an upstream that speaks /v1/responses', () => {
  test('whole: its own fields, with the caller name of the model and sealed ids; charged as reported', async () => {
    const own = await native();
    const { status, body, rid } = await ask({
      model: own.name,
      input: '@demo tokens=5 mode=thinking',
      metadata: { a: 'b' },
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ object: 'response', status: 'completed', model: own.name });
    expect(body.output.map(({ type }: Loose) => type)).toEqual(['reasoning', 'message']);
    expect(body.output[1].content[0].text).toBe(wordsUpTo(5));
    for (const id of [body.id, ...body.output.map((item: Loose) => item.id)])
      expect(id).toMatch(/^(?:resp|rs|msg)_tg[\w-]{40,}$/);
    const { reported } = ofProvider(rid) ?? {};
    expect(body.usage).toMatchObject({
      input_tokens: reported?.prompt,
      output_tokens: reported?.output,
    });
    expect(await node.settledBalance(own)).toBe(
      BOUGHT - (reported?.prompt ?? 0) - (reported?.output ?? 0),
    );
    expect(await node.journalledFinal(rid)).toMatchObject({
      protocol: 'responses',
      basis: 'reported',
      outcome: 'completed',
      output_tokens: 5,
    });
  });

  test('as a stream: every event with its number, one id for each item, and the usage at the end', async () => {
    const { events, rid } = await streamed({ input: '@demo tokens=4 mode=tools' });
    expect(events.map(({ sequence_number: number }) => number)).toEqual([...events.keys()]);
    expect(new Set(events.flatMap(({ response }) => response?.id ?? [])).size).toBe(1);
    const done = events.filter(({ type }) => type === 'response.output_item.done');
    const last = events.at(-1);
    expect(last).toMatchObject({
      type: 'response.completed',
      response: { model: model.name, usage: { output_tokens: 4 } },
    });
    expect(done.map(({ item }) => item.id)).toEqual(
      last.response.output.map(({ id }: Loose) => id),
    );
    const deltas = events.filter(({ type }) => type === 'response.output_text.delta');
    expect(deltas.map(({ delta }) => delta).join('')).toBe(wordsUpTo(4));
    expect(new Set(deltas.map(({ item_id: id }) => id))).toEqual(new Set([done[0].item.id]));
    expect(await node.journalledFinal(rid)).toMatchObject({ basis: 'reported', is_stream: true });
  });

  test('ends at the limit that was granted, which the upstream is sent', async () => {
    const { body } = await ask({ input: '@demo tokens=50', max_output_tokens: 20 });
    expect(body).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      max_output_tokens: 20,
    });
    const granted = await ask({ input: '@demo tokens=2' });
    expect(granted.body.max_output_tokens).toBe(4_096);
  });

  test('a stream that breaks ends as failed, and costs what was delivered', async () => {
    for (const mode of ['error-mid', 'dies', 'eof']) {
      const { events, rid } = await streamed({ input: `@demo tokens=40 delay=2 mode=${mode}` });
      expect(events.at(-1)).toMatchObject({
        type: 'response.failed',
        response: { status: 'failed', error: { message: expect.any(String) } },
      });
      expect(await node.journalledFinal(rid)).toMatchObject({
        outcome: 'upstream_interrupted',
        basis: 'estimated',
      });
    }
  });

  test('an upstream that reports no usage is counted by the gateway', async () => {
    const { rid } = await streamed({ input: '@demo tokens=30 mode=no-usage' });
    const final = (await node.journalledFinal(rid)) as { output_tokens: number; basis: string };
    expect(final.basis).toBe('estimated');
    expect(final.output_tokens).toBeGreaterThan(0);
  });
});

describe('what an upstream has stored', () => {
  test('is gone on from, retrieved, listed and deleted by the account that made it', async () => {
    const first = await ask({ input: 'a first question' });
    const second = await ask({ input: 'a second', previous_response_id: first.body.id });
    expect(second.body.previous_response_id).toBe(first.body.id);
    expect(ofProvider(second.rid)?.promptTokens).toBeGreaterThan(
      ofProvider(first.rid)?.promptTokens ?? 0,
    );
    const path = `/v1/responses/${first.body.id}`;
    expect((await call('GET', path)).body).toEqual(first.body);
    const { body: items } = await call('GET', `${path}/input_items?limit=5&order=asc`);
    expect(items).toMatchObject({ object: 'list', data: [{ role: 'user' }] });
    expect([items.first_id, items.last_id]).toEqual([items.data[0].id, items.data[0].id]);
    expect(items.first_id).toMatch(/^msg_tg/);
    expect((await call('POST', `${path}/cancel`)).body.error.message).toContain('synchronous');
    expect((await call('DELETE', path)).body).toEqual({
      id: first.body.id,
      object: 'response',
      deleted: true,
    });
    expect((await call('GET', path)).status).toBe(404);
    // Asked for again and again: it says nothing of the route, which serves all others.
    for (let time = 0; time < 8; time += 1)
      expect(await ask({ previous_response_id: first.body.id })).toMatchObject({
        status: 404,
        body: { error: { code: 'stored_not_found' } },
      });
    expect((await ask({})).status).toBe(200);
  });

  test('is nothing to another account, nor is a damaged id: 404 in the words of OpenAI', async () => {
    const { body } = await ask({ input: 'mine' });
    const { key } = await node.addAccount(8);
    const damaged = `${body.id.slice(0, -3)}AAA`;
    for (const [id, asking] of [
      [body.id, key],
      [damaged, node.apiKey],
      ['resp_0123456789abcdef', node.apiKey],
    ] as const)
      for (const [method, rest] of [
        ['GET', ''],
        ['DELETE', ''],
        ['POST', '/cancel'],
        ['GET', '/input_items'],
      ] as const)
        expect(await call(method, `/v1/responses/${id}${rest}`, { key: asking })).toMatchObject({
          status: 404,
          body: { error: { type: 'invalid_request_error', code: 'stored_not_found' } },
        });
    const referring = [
      { previous_response_id: damaged },
      { conversation: 'conv_1' },
      { input: [{ type: 'item_reference', id: 'msg_1' }] },
      { input: [{ id: 'msg_1' }] },
      { previous_response_id: body.id, input: [{ type: 'item_reference', id: 'msg_1' }] },
    ];
    for (const fields of referring)
      expect(await ask(fields)).toMatchObject({
        status: 404,
        body: { error: { code: 'stored_not_found' } },
      });
    expect((await call('GET', `/v1/responses/${body.id}`)).status).toBe(200);
  });

  test('holds the context window of its model, as nothing in the request bounds it', async () => {
    const tight = await native({ context_window: 5_000_000 });
    const first = await ask({ model: tight.name });
    expect(first.status).toBe(200);
    const second = await ask({ model: tight.name, previous_response_id: first.body.id });
    expect(second.body.error.code).toBe('insufficient_quota');
  });

  test('items are named by their sealed ids, and carry none that another upstream has made', async () => {
    const { body } = await ask({ input: '@demo tokens=3' });
    const [message] = body.output;
    const again = await ask({
      input: [
        { type: 'item_reference', id: message.id },
        { type: 'message', role: 'user', content: '@demo tokens=2' },
      ],
    });
    expect(again.status).toBe(200);
    const elsewhere = await native();
    const moved = await ask({
      model: elsewhere.name,
      input: [message, { role: 'user', content: '@demo tokens=2' }],
    });
    expect(moved.status).toBe(200);
  });

  test('is counted with what it goes on from, by the upstream that has it', async () => {
    const { body } = await ask({ input: 'a first question of some words' });
    const count = async (fields: object): Promise<Loose> =>
      (
        await call('POST', '/v1/responses/input_tokens', {
          body: { model: model.name, input: 'hi', ...fields },
        })
      ).body;
    const alone = await count({});
    expect(alone).toEqual({ object: 'response.input_tokens', input_tokens: 5 });
    const after = await count({ previous_response_id: body.id });
    expect(after.input_tokens).toBeGreaterThan(alone.input_tokens + body.usage.input_tokens);
    const translated = await node.addModel([{ baseUrl }], { context_window: 10_000 }, BOUGHT);
    const estimated = await count({ model: translated.name });
    expect(estimated.object).toBe('response.input_tokens');
    expect(estimated.input_tokens).toBeGreaterThan(0);
  });

  test('conversations are made, filled, used and deleted', async () => {
    const made = await call('POST', '/v1/conversations', {
      body: { items: [{ type: 'message', role: 'user', content: 'remember this' }] },
    });
    const { id } = made.body;
    expect(id).toMatch(/^conv_tg/);
    const answered = await ask({ conversation: id, input: '@demo tokens=2' });
    expect(answered.body.conversation).toEqual({ id });
    const path = `/v1/conversations/${id}`;
    const { body: items } = await call('GET', `${path}/items`);
    expect(items.data.map(({ role }: Loose) => role)).toEqual(['user', 'user', 'assistant']);
    expect(items.data[2].id).toBe(answered.body.output[0].id);
    const one = await call('GET', `${path}/items/${items.data[0].id}`);
    expect(one.body).toMatchObject({ id: items.data[0].id, content: 'remember this' });
    const { key } = await node.addAccount(8);
    expect((await call('GET', path, { key })).status).toBe(404);
    expect((await call('POST', '/v1/conversations', { key, body: {} })).body.error.code).toBe(
      'no_conversations',
    );
    expect((await call('DELETE', path)).body).toMatchObject({ id, deleted: true });
    expect((await call('GET', path)).status).toBe(404);
  });
});

test('a compaction is charged as a response, without a limit of its own', async () => {
  const own = await native({ max_output_tokens: 500 });
  const post = (fields: object): Promise<Answered> =>
    call('POST', '/v1/responses/compact', { body: { model: own.name, input: 'much', ...fields } });
  const { status, body, rid } = await post({});
  expect([status, body.object]).toEqual([200, 'response.compaction']);
  expect(body.output[0].id).toMatch(/^cmp_tg/);
  expect(await node.settledBalance(own)).toBe(
    BOUGHT - body.usage.input_tokens - body.usage.output_tokens,
  );
  expect(ofProvider(rid)?.emitted).toBe(body.usage.output_tokens);
  expect((await post({ stream: true })).body.error.param).toBe('stream');
  const translated = await node.addModel([{ baseUrl }], {}, BOUGHT);
  expect((await post({ model: translated.name })).body.error.code).toBe('unsupported_endpoint');
});

test('a compaction that the balance cannot pay to its end is not asked for', async () => {
  const poor = await node.addModel(
    [{ baseUrl, overrides: { endpoints: ['responses' as const] } }],
    { context_window: 10_000 },
    4_000,
  );
  const path = '/v1/responses/compact';
  const { status, body } = await call('POST', path, { body: { model: poor.name, input: 'much' } });
  expect([status, body.error.code]).toEqual([429, 'insufficient_quota']);
  expect(await node.settledBalance(poor)).toBe(4_000);
});

describe('what is refused by name', () => {
  test('templates of the account of the provider', async () => {
    expect(await ask({ prompt: { id: 'pmpt_1' } })).toMatchObject({
      status: 400,
      body: { error: { code: 'unsupported_parameter', param: 'prompt' } },
    });
  });

  test('files and vector stores of the account of the provider, also where tokens are counted', async () => {
    const input = [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }];
    const refusal = {
      status: 400,
      body: { error: { code: 'unsupported_parameter', param: 'input[0].content[0].file_id' } },
    };
    expect(await ask({ input })).toMatchObject(refusal);
    expect(
      await call('POST', '/v1/responses/input_tokens', { body: { model: model.name, input } }),
    ).toMatchObject(refusal);
    const tools = [{ type: 'file_search', vector_store_ids: ['vs_1'] }];
    expect((await ask({ tools })).body.error.param).toBe('tools[0].vector_store_ids');
  });

  test('tools of the provider without a price; with one they pass and are charged', async () => {
    const tools = [{ type: 'web_search_preview_2025_03_11' }];
    expect((await ask({ tools })).body.error).toMatchObject({
      code: 'server_tool_not_priced',
      param: 'tools[0].type',
    });
    const [price] = model.prices;
    const multipliers = { 'server_tools=web_search_preview': 2_000_000 };
    const priced = await native({
      prices: [{ ...price, multipliers } as (typeof model.prices)[0]],
    });
    const { status, rid } = await ask({ model: priced.name, tools });
    expect(status).toBe(200);
    expect(await node.journalledFinal(rid)).toMatchObject({
      premiums: ['server_tools=web_search_preview'],
    });
    const own = [{ type: 'local_shell' }, { type: 'custom', name: 'x' }, { type: 'apply_patch' }];
    expect((await ask({ tools: own })).status).toBe(200);
  });

  test('what is stored elsewhere, where all routes translate', async () => {
    const translated = await node.addModel([{ baseUrl }], { context_window: 10_000 }, BOUGHT);
    expect(await ask({ model: translated.name, previous_response_id: 'resp_1' })).toMatchObject({
      status: 400,
      body: { error: { code: 'unsupported_parameter', param: 'previous_response_id' } },
    });
  });
});
