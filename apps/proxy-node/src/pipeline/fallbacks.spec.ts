import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { FailoverSettings, SnapshotModel } from '@tollgate/snapshot';
import { localUpstreams, type LocalUpstream } from '../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';

type Fallbacks = NonNullable<FailoverSettings['fallbacks']>;

const TOKENS = 1_000_000;
const USED = 7;
const OVERFLOW = '{"error":{"message":"prompt is too long","code":"context_length_exceeded"}}';
const ANSWER = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'x',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 4, completion_tokens: 3, total_tokens: USED },
};

const STREAM = `data: ${JSON.stringify({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'x',
  choices: [{ index: 0, delta: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: ANSWER.usage,
})}\n\ndata: [DONE]\n\n`;

let node: NodeUnderTest;
let sound: LocalUpstream;
let other: SnapshotModel;
const { upstreamOf, closeUpstreams } = localUpstreams();

beforeAll(async () => {
  node = await startNodeUnderTest();
  sound = await upstreamOf((response, body) => {
    const { stream } = JSON.parse(body) as { stream?: boolean };
    response
      .writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' })
      .end(stream ? STREAM : JSON.stringify(ANSWER));
  });
  other = await node.addModel([{ baseUrl: sound.baseUrl }]);
});
afterAll(async () => {
  await node?.stop();
  await closeUpstreams();
});

async function upstreamThat(status: number, body: string): Promise<LocalUpstream> {
  const upstream = await upstreamOf((response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(body),
  );
  return upstream;
}

async function modelThat(
  status: number,
  { body = '{}', on = ['error'] }: { body?: string; on?: Fallbacks[number]['on'] } = {},
): Promise<SnapshotModel> {
  const { baseUrl } = await upstreamThat(status, body);
  return node.addModel([{ baseUrl }], { failover: { fallbacks: [{ model: other.name, on }] } });
}

const ask = (model: SnapshotModel, more: object = {}, headers: Record<string, string> = {}) =>
  node.post(
    '/v1/chat/completions',
    { model: model.name, messages: [{ role: 'user', content: 'hi' }], ...more },
    headers,
  );

describe('another model that stands in', () => {
  test('answers in its own name and is charged alone; the receipt names the model that was tried before', async () => {
    const model = await modelThat(500);
    const before = await node.settledBalance(other);
    const response = await ask(model);
    expect([response.status, await response.json()]).toMatchObject([200, { model: other.name }]);
    expect(await node.settledBalance(model)).toBe(TOKENS);
    expect(await node.settledBalance(other)).toBe(before - USED);
    expect(await node.journalledFinal(response.headers.get('x-request-id'))).toMatchObject({
      model_id: other.id,
      charge: USED,
      attempts: [{ error: 'other_model' }, { status: 200 }],
    });
  });

  test('serves streams and the other protocol', async () => {
    const model = await modelThat(500);
    const streamed = await (await ask(model, { stream: true })).text();
    expect(streamed).toContain(`"model":"${other.name}"`);
    expect(streamed).toContain('[DONE]');
    const message = await node.post('/v1/messages', {
      model: model.name,
      max_tokens: 50,
      messages: [{ role: 'user', content: 'hi' }],
    });
    expect(await message.json()).toMatchObject({ type: 'message', model: other.name });
  });

  describe.each([
    ['chat', false, '"finish_reason":"stop"'],
    ['chat', true, 'data: [DONE]'],
    ['messages', false, '"stop_reason":"end_turn"'],
    ['messages', true, 'event: message_stop'],
  ] as const)('of %s, stream %s', (protocol, stream, end) => {
    const path = protocol === 'chat' ? '/v1/chat/completions' : '/v1/messages';
    const asked = (model: SnapshotModel): Promise<Response> =>
      node.post(path, {
        model: model.name,
        max_tokens: 50,
        stream,
        messages: [{ role: 'user', content: 'hi' }],
      });

    test.each<[Fallbacks[number]['on'][number], number, string, number]>([
      ['error', 500, '{}', 0],
      ['overflow', 400, OVERFLOW, 0],
      ['rest', 500, '{}', 5],
    ])('is whole and charged once on %s', async (on, status, body, failures) => {
      const model = await modelThat(status, { body, on: [on] });
      for (let count = 0; count < failures; count += 1)
        expect((await asked(model)).status).toBeGreaterThanOrEqual(500);
      const before = await node.settledBalance(other);
      const response = await asked(model);
      const text = await response.text();
      expect([response.status, text]).toEqual([200, expect.stringContaining('hello')]);
      expect(text).toContain(end);
      expect(text).toContain(`"model":"${other.name}"`);
      expect(text).not.toContain('"error"');
      expect(await node.settledBalance(other)).toBe(before - USED);
      expect(await node.settledBalance(model)).toBe(TOKENS);
    });
  });

  test('is no second request in the windows of the key', async () => {
    const model = await modelThat(500);
    const { key } = await node.putKey({ rpm: 2 });
    const statuses: number[] = [];
    for (let count = 0; count < 3; count += 1)
      statuses.push((await ask(model, {}, { authorization: `Bearer ${key}` })).status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  test('takes prompts that are too long for the first model, where it is configured to', async () => {
    const model = await modelThat(400, { body: OVERFLOW, on: ['overflow'] });
    expect((await ask(model)).status).toBe(200);
    const without = await modelThat(400, { body: OVERFLOW, on: ['error', 'rest'] });
    expect((await ask(without)).status).toBe(400);
  });

  test('takes over while the first rests', async () => {
    const model = await modelThat(500, { on: ['rest'] });
    const statuses: number[] = [];
    for (let count = 0; count < 6; count += 1) statuses.push((await ask(model)).status);
    expect(statuses).toEqual([502, 502, 502, 502, 502, 200]);
  });

  test('is not asked for a request that is wrong in itself', async () => {
    const asked = sound.requests.length;
    const body = '{"error":{"message":"bad field","type":"invalid_request_error"}}';
    expect((await ask(await modelThat(400, { body }))).status).toBe(400);
    expect(sound.requests).toHaveLength(asked);
  });

  test('that the key may not call leaves the error of the first, and no hold', async () => {
    const model = await modelThat(500);
    const { key } = await node.putKey({ allowedModels: model.name });
    const before = await node.settledBalance(other);
    const response = await ask(model, {}, { authorization: `Bearer ${key}` });
    expect([response.status, await response.json()]).toMatchObject([
      502,
      { error: { code: 'upstream_error' } },
    ]);
    expect(await node.settledBalance(other)).toBe(before);
    expect(await node.settledBalance(model)).toBe(TOKENS);
  });

  test('does not hand the request on to a third', async () => {
    const third = await modelThat(500);
    const { baseUrl } = await upstreamThat(500, '{}');
    const failover = {
      fallbacks: [{ model: third.name, on: ['error'] }],
    } satisfies FailoverSettings;
    const first = await node.addModel([{ baseUrl }], { failover });
    expect((await ask(first)).status).toBe(502);
  });
});
