import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Exchange, ExchangeRequest } from '@tollgate/protocols';
import type { LocalUpstream } from '../testing/local-upstream.ts';
import type { NodeUnderTest } from '../testing/node-under-test.ts';

/** A protocol of its own: no word of it is OpenAI's or Anthropic's. This is all that its folder needs to hold to serve chat clients. */
const echo = {
  credential: (apiKey: string) => ({ 'x-echo-key': apiKey }),
  exchanges: {
    chat: {
      isNative: false,
      create: ({ ask, upstreamModel }: ExchangeRequest): Exchange => ({
        path: '/say',
        requestBody: Buffer.from(
          JSON.stringify({ engine: upstreamModel, said: ask.prompt.text() }),
        ),
        requestHeaders: { 'x-echo-version': '1' },
        readJson: (body) => {
          const { reply, read, made } = JSON.parse(Buffer.from(body).toString());
          const message = { role: 'assistant', content: reply };
          return {
            kind: 'answer',
            body: Buffer.from(
              JSON.stringify({ model: ask.model, choices: [{ index: 0, message }] }),
            ),
            usage: { ...NO_USAGE, input: read, output: made },
            outputText: reply,
            calls: 0,
          };
        },
        openStream: () => {
          throw new Error('this test streams nothing');
        },
      }),
    },
  },
  probe: () => null,
};

const { NO_USAGE, UPSTREAM_PROTOCOLS, hasEmbeddings } = await import('@tollgate/contracts');
const { PROVIDERS } = await import('@tollgate/protocols');
jest.resetModules();
jest.unstable_mockModule('../../../../libs/contracts/src/upstream-protocols.ts', () => ({
  UPSTREAM_PROTOCOLS: [...UPSTREAM_PROTOCOLS, 'echo'],
  hasEmbeddings,
}));
jest.unstable_mockModule('../../../../libs/protocols/src/providers/registry.ts', () => ({
  PROVIDERS: { ...PROVIDERS, echo },
}));
const { startNodeUnderTest, UPSTREAM_KEY } = await import('../testing/node-under-test.ts');
const { startLocalUpstream } = await import('../testing/local-upstream.ts');

let node: NodeUnderTest;
let upstream: LocalUpstream;
beforeAll(async () => {
  node = await startNodeUnderTest();
  upstream = await startLocalUpstream((response) =>
    response.end(JSON.stringify({ reply: 'hello there', read: 11, made: 5 })),
  );
});
afterAll(async () => {
  await node?.stop();
  await upstream?.close();
});

test('a third upstream protocol takes its adapter and its registration: requests reach it and are charged', async () => {
  const model = await node.addModel([{ baseUrl: upstream.baseUrl, protocol: 'echo' as never }]);
  const ask = (path: string, body: object) =>
    fetch(`${node.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${node.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: model.name, ...body }),
    });
  const messages = [{ role: 'user', content: 'hi' }];
  const answer = await ask('/v1/chat/completions', { messages });
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({
    model: model.name,
    choices: [{ message: { content: 'hello there' } }],
  });
  expect(upstream.requests).toHaveLength(1);
  const [{ incoming, body } = { incoming: null, body: '' }] = upstream.requests;
  expect(incoming?.url).toMatch(/\/say$/);
  expect(incoming?.headers).toMatchObject({ 'x-echo-key': UPSTREAM_KEY, 'x-echo-version': '1' });
  expect(JSON.parse(body)).toMatchObject({ said: 'hi' });
  // It has no other endpoint: such requests have no route.
  expect((await ask('/v1/messages', { messages, max_tokens: 5 })).status).toBe(400);
  expect(upstream.requests).toHaveLength(1);
});
