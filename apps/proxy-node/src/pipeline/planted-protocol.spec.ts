/** @jest-environment node */
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { z } from 'zod';
import type { LocalUpstream } from '../testing/local-upstream.ts';
import type { NodeUnderTest } from '../testing/node-under-test.ts';

// A further client protocol is a row in each of these tables, and what serves it in a provider.
const libs = '../../../../libs';
const TABLES = {
  rows: `${libs}/contracts/src/usage/client-protocols.ts`,
  bodies: `${libs}/protocols/src/fields/client-bodies.ts`,
  schemas: `${libs}/protocols/src/ask/request-schemas.ts`,
  providers: `${libs}/protocols/src/providers/registry.ts`,
};
const { CLIENT_PROTOCOLS, CLIENT_PROTOCOL_ROWS, clientProtocol, hasModelInPath } =
  await import('@tollgate/contracts');
const { CLIENT_BODIES, PROVIDERS } = await import('@tollgate/protocols');
const schemas = (await import(TABLES.schemas)) as { SCHEMAS: object };
const planted = { name: 'edits', path: '/v1/edits', kind: 'chat', operation: 'chat' };
const { chat } = CLIENT_BODIES;
const { exchanges } = PROVIDERS.openai;
jest.resetModules();
jest.unstable_mockModule(TABLES.rows, () => ({
  CLIENT_PROTOCOL_ROWS: [...CLIENT_PROTOCOL_ROWS, planted],
  CLIENT_PROTOCOLS: [...CLIENT_PROTOCOLS, 'edits'],
  hasModelInPath: (name: string) => name !== 'edits' && hasModelInPath(name as never),
  clientProtocol: (name: string) => (name === 'edits' ? planted : clientProtocol(name as never)),
}));
jest.unstable_mockModule(TABLES.bodies, () => {
  const planted = { ...CLIENT_BODIES, edits: chat };
  const fields = Object.entries(planted).map(([name, body]) => [name, body.fields]);
  return { CLIENT_BODIES: planted, FIELD_TABLES: Object.fromEntries(fields) };
});
jest.unstable_mockModule(TABLES.schemas, () => ({
  ...schemas,
  SCHEMAS: { ...schemas.SCHEMAS, edits: z.looseObject({ model: z.string() }) },
}));
jest.unstable_mockModule(TABLES.providers, () => ({
  PROVIDERS: {
    ...PROVIDERS,
    openai: { ...PROVIDERS.openai, exchanges: { ...exchanges, edits: exchanges.chat } },
  },
}));
const { startNodeUnderTest } = await import('../testing/node-under-test.ts');
const { startLocalUpstream } = await import('../testing/local-upstream.ts');

const TOKENS = 1_000_000;
const ANSWER = {
  id: 'a',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 },
};

let node: NodeUnderTest;
let upstream: LocalUpstream;
beforeAll(async () => {
  node = await startNodeUnderTest();
  upstream = await startLocalUpstream((response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(ANSWER)),
  );
});
afterAll(async () => {
  await node?.stop();
  await upstream?.close();
});

const ask = (model: string) =>
  fetch(`${node.url}/v1/edits`, {
    method: 'POST',
    headers: { authorization: `Bearer ${node.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
  });

test('a client protocol that is planted in the four tables is served at its path, and charged', async () => {
  const model = await node.addModel([{ baseUrl: upstream.baseUrl, protocol: 'openai' }]);
  const response = await ask(model.name);
  expect([response.status, await response.json()]).toMatchObject([
    200,
    { choices: [{ message: { content: 'hi' } }] },
  ]);
  expect(await node.settledBalance(model)).toBe(TOKENS - 13);
});

test('a model without a route for it is refused with the paths that serve it', async () => {
  const model = await node.addModel([{ baseUrl: upstream.baseUrl, protocol: 'anthropic' }]);
  const response = await ask(model.name);
  const text = await response.text();
  expect([response.status, text]).toEqual([400, expect.stringContaining('/v1/messages')]);
  expect(text).toContain('no route for the edits protocol');
});
