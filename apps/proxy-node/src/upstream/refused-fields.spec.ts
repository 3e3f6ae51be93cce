import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { SnapshotModel } from '@tollgate/snapshot';
import { localUpstreams, type LocalUpstream } from '../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';

const ANSWER = JSON.stringify({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'x',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 4, completion_tokens: 3, total_tokens: 7 },
});

let node: NodeUnderTest;
const { upstreamOf, closeUpstreams } = localUpstreams();

beforeAll(async () => {
  node = await startNodeUnderTest();
});
afterAll(async () => {
  await node?.stop();
  await closeUpstreams();
});

/** Refuses these fields one at a time, as OpenAI's models that reason do. */
async function modelRefusing(
  ...fields: string[]
): Promise<{ upstream: LocalUpstream; model: SnapshotModel }> {
  const upstream = await upstreamOf((response, body) => {
    const refused = fields.find((field) => field in (JSON.parse(body) as object));
    const message = `Unsupported parameter: '${refused}' is not supported with this model.`;
    const error = {
      message,
      type: 'invalid_request_error',
      param: refused,
      code: 'unsupported_parameter',
    };
    response
      .writeHead(refused ? 400 : 200, { 'content-type': 'application/json' })
      .end(refused ? JSON.stringify({ error }) : ANSWER);
  });
  return { upstream, model: await node.addModel([{ baseUrl: upstream.baseUrl }]) };
}

const sent = ({ requests }: LocalUpstream): unknown[] =>
  requests.map(({ body }) => {
    const { messages: _, model: __, ...fields } = JSON.parse(body) as Record<string, unknown>;
    return fields;
  });
const ask = (model: SnapshotModel, more: object = {}) =>
  node.post('/v1/chat/completions', {
    model: model.name,
    messages: [{ role: 'user', content: 'hi' }],
    ...more,
  });

describe('a field that the model of a route refuses', () => {
  test('costs one repetition; from then on the limit goes by its other name', async () => {
    const { upstream, model } = await modelRefusing('max_tokens');
    expect((await ask(model)).status).toBe(200);
    expect((await ask(model, { max_tokens: 9 })).status).toBe(200);
    expect(sent(upstream)).toEqual([
      { max_tokens: 4096 },
      { max_completion_tokens: 4096 },
      { max_completion_tokens: 9 },
    ]);
  });

  test('is left out where it has no other name, each with a repetition of its own', async () => {
    const { upstream, model } = await modelRefusing('temperature', 'stop', 'max_tokens');
    const response = await ask(model, { temperature: 0.5, stop: ['a'], max_tokens: 9 });
    expect(response.status).toBe(200);
    expect(sent(upstream).at(-1)).toEqual({ max_completion_tokens: 9 });
    expect(upstream.requests).toHaveLength(4);
  });

  test('is learned for all protocols of the route, and free of charge', async () => {
    const { upstream, model } = await modelRefusing('max_tokens');
    const body = { model: model.name, max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] };
    expect((await node.post('/v1/messages', body)).status).toBe(200);
    expect((await node.post('/v1/messages', body)).status).toBe(200);
    expect(upstream.requests).toHaveLength(3);
    expect(await node.settledBalance(model)).toBe(1_000_000 - 14);
  });

  test('may be the role of instructions: developer becomes system', async () => {
    const upstream = await upstreamOf((response, body) => {
      const isRefused = body.includes('"developer"');
      const message = 'messages[0].role: unknown variant `developer`, expected one of `system`';
      response
        .writeHead(isRefused ? 400 : 200, { 'content-type': 'application/json' })
        .end(isRefused ? JSON.stringify({ error: { message } }) : ANSWER);
    });
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    const messages = [{ role: 'developer', content: 'be brief' }];
    expect((await ask(model, { messages })).status).toBe(200);
    expect((await ask(model, { messages })).status).toBe(200);
    const roles = upstream.requests.map(
      ({ body }) => (JSON.parse(body) as { messages: { role: string }[] }).messages[0]?.role,
    );
    expect(roles).toEqual(['developer', 'system', 'system']);
  });

  test('is the caller’s error when the upstream refuses the limit under both names', async () => {
    const { upstream, model } = await modelRefusing('max_tokens', 'max_completion_tokens', 'n');
    expect((await ask(model, { n: 1 })).status).toBe(400);
    expect(upstream.requests).toHaveLength(3);
  });
});
