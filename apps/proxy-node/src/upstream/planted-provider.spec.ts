/** @jest-environment node */
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { SnapshotModel } from '@tollgate/snapshot';
import type { LocalUpstream } from '../testing/local-upstream.ts';
import type { NodeUnderTest } from '../testing/node-under-test.ts';

// A third provider is its folder and its registration: these two lines, which the types keep in step.
const {
  FURTHER_ENDPOINTS,
  UPSTREAM_PROTOCOLS,
  addressFault,
  authsOf,
  hasEmbeddings,
  furtherEndpoints,
  isSpoken,
  isVendorsOwn,
  isVersioned,
  speaksAbility,
} = await import('@tollgate/contracts');
const { PROVIDERS } = await import('@tollgate/protocols');
const { echo } = await import('../../../../libs/protocols/test/planted-provider/echo.ts');
jest.resetModules();
jest.unstable_mockModule('../../../../libs/contracts/src/upstream-protocols.ts', () => ({
  UPSTREAM_PROTOCOLS: [...UPSTREAM_PROTOCOLS, 'echo'],
  addressFault,
  authsOf,
  hasEmbeddings,
  furtherEndpoints,
  isSpoken,
  isVendorsOwn,
  isVersioned,
  speaksAbility,
  FURTHER_ENDPOINTS,
}));
jest.unstable_mockModule('../../../../libs/protocols/src/providers/registry.ts', () => ({
  PROVIDERS: { ...PROVIDERS, echo },
}));
const { startNodeUnderTest, UPSTREAM_KEY } = await import('../testing/node-under-test.ts');
const { until } = await import('@tollgate/harness');
const { startLocalUpstream } = await import('../testing/local-upstream.ts');

const TOKENS = 1_000_000;
const framed = (event: object): Buffer => {
  const json = Buffer.from(JSON.stringify(event));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(json.length);
  return Buffer.concat([length, json]);
};
const words = { read: 11, made: 5 };
const json = (response: ServerResponse, body: object, status = 200) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

let node: NodeUnderTest;
let upstream: LocalUpstream;
let answer: (response: ServerResponse) => unknown;
beforeAll(async () => {
  node = await startNodeUnderTest();
  upstream = await startLocalUpstream((response) => void answer(response));
});
afterAll(async () => {
  await node?.stop();
  await upstream?.close();
});

const addModel = () => node.addModel([{ baseUrl: upstream.baseUrl, protocol: 'echo' as never }]);
const ask = (model: SnapshotModel, more: object = {}, path = '/v1/chat/completions') =>
  fetch(`${node.url}${path}`, {
    method: 'POST',
    // Without its end mark a stream would end too, after a time.
    signal: AbortSignal.timeout(4_000),
    headers: { authorization: `Bearer ${node.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: model.name,
      messages: [{ role: 'user', content: 'hi' }],
      ...more,
    }),
  });

test("a third provider's JSON answer is translated, and charged by its own usage", async () => {
  const model = await addModel();
  answer = (response) => json(response, { reply: 'hello there', words });
  const response = await ask(model);
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({
    model: model.name,
    choices: [{ message: { content: 'hello there' } }],
  });
  const { incoming, body } = upstream.requests.at(-1) ?? {};
  expect(incoming?.url).toMatch(/\/engines\/gpt-4-\d+\/say$/);
  expect(incoming?.headers).toMatchObject({ 'x-echo-version': '1' });
  const { 'x-echo-day': day, 'x-echo-mac': mac } = incoming?.headers ?? {};
  const key = createHmac('sha256', UPSTREAM_KEY).update(String(day)).digest();
  expect(mac).toBe(
    createHmac('sha256', key).update(`POST ${incoming?.url}\n${body}`).digest('hex'),
  );
  expect(Date.parse(String(day))).toBeGreaterThan(Date.now() - 2 * 86_400_000);
  expect(JSON.parse(body ?? '')).toMatchObject({ said: 'hi' });
  expect(await node.settledBalance(model)).toBe(TOKENS - 16);
});

test("a third provider's stream is read by its tap to its own end mark, and charged by its own usage", async () => {
  const model = await addModel();
  answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/x-echo-frames' });
    const frames = [{ reply: 'hello' }, { reply: ' there', words, over: true }].map(framed);
    const bytes = Buffer.concat(frames);
    // The response is cut inside of the first frame.
    response.write(bytes.subarray(0, 7));
    setImmediate(() => response.write(bytes.subarray(7)));
    // The connection stays open: only the end mark ends the answer.
  };
  const text = await (await ask(model, { stream: true })).text();
  expect(text).toContain('"content":"hello"');
  expect(text).toContain('"content":" there"');
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  expect(await node.settledBalance(model)).toBe(TOKENS - 16);
});

test("a third provider's error words decide what its failure means", async () => {
  const model = await addModel();
  answer = (response) => json(response, { error: { code: 'said_too_much', message: 'no' } }, 400);
  const overflow = await ask(model);
  expect(overflow.status).toBe(400);
  expect(await overflow.json()).toMatchObject({ error: { code: 'context_length_exceeded' } });
  answer = (response) => json(response, { error: { code: 'engine_tired', message: 'no' } });
  const tired = await ask(model);
  expect(tired.status).toBe(503);
  await until('the hold is returned', async () => (await node.settledBalance(model)) === TOKENS);
});

test('an endpoint that a third provider does not have has no route', async () => {
  const model = await addModel();
  const before = upstream.requests.length;
  expect((await ask(model, { max_tokens: 5 }, '/v1/messages')).status).toBe(400);
  expect(upstream.requests).toHaveLength(before);
});
