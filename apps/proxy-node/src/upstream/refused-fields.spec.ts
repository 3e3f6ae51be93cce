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

const STREAM = `data: ${JSON.stringify({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'x',
  choices: [{ index: 0, delta: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 4, completion_tokens: 3, total_tokens: 7 },
})}\n\ndata: [DONE]\n\n`;
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'x',
  content: [{ type: 'text', text: 'hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 4, output_tokens: 3 },
};
const MESSAGE_STREAM = [
  { type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hello' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } },
  { type: 'message_stop' },
]
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join('');

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

  test.each([
    ['/v1/chat/completions', 'data: [DONE]'],
    ['/v1/messages', 'event: message_stop'],
  ])('costs one repetition in a stream of %s too', async (path, end) => {
    const upstream = await upstreamOf((response, body) => {
      const isRefused = 'max_tokens' in (JSON.parse(body) as object);
      const error = { message: "Unsupported parameter: 'max_tokens'", param: 'max_tokens' };
      response
        .writeHead(isRefused ? 400 : 200, {
          'content-type': isRefused ? 'application/json' : 'text/event-stream',
        })
        .end(isRefused ? JSON.stringify({ error }) : STREAM);
    });
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    for (const tries of [2, 3]) {
      const messages = [{ role: 'user', content: 'hi' }];
      const response = await node.post(path, {
        model: model.name,
        max_tokens: 50,
        stream: true,
        messages,
      });
      expect(response.status).toBe(200);
      const text = await response.text();
      expect(text).toContain('hello');
      expect(text).toContain(end);
      expect(text).not.toContain('error');
      expect(upstream.requests).toHaveLength(tries);
    }
    expect(await node.settledBalance(model)).toBe(1_000_000 - 14);
  });

  test.each([
    ['JSON', false],
    ['a stream', true],
  ])('is left out where an Anthropic upstream refuses it, with %s', async (_kind, stream) => {
    const upstream = await upstreamOf((response, body) => {
      const isRefused = 'temperature' in (JSON.parse(body) as object);
      const error = {
        type: 'invalid_request_error',
        message: '`temperature` is deprecated for this model.',
      };
      response
        .writeHead(isRefused ? 400 : 200, {
          'content-type': stream && !isRefused ? 'text/event-stream' : 'application/json',
        })
        .end(
          isRefused
            ? JSON.stringify({ type: 'error', error })
            : stream
              ? MESSAGE_STREAM
              : JSON.stringify(MESSAGE),
        );
    });
    const model = await node.addModel([{ baseUrl: upstream.baseUrl, protocol: 'anthropic' }]);
    for (const tries of [2, 3]) {
      const response = await node.post('/v1/messages', {
        model: model.name,
        max_tokens: 50,
        temperature: 0.5,
        stream,
        messages: [{ role: 'user', content: 'hi' }],
      });
      expect([response.status, await response.text()]).toEqual([
        200,
        expect.stringContaining('hello'),
      ]);
      expect(upstream.requests).toHaveLength(tries);
    }
    expect(await node.settledBalance(model)).toBe(1_000_000 - 14);
  });

  test('is the caller’s error when the upstream refuses the limit under both names', async () => {
    const { upstream, model } = await modelRefusing('max_tokens', 'max_completion_tokens', 'n');
    expect((await ask(model, { n: 1 })).status).toBe(400);
    expect(upstream.requests).toHaveLength(3);
  });
});
