import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';

let plane: ControlPlane;
let provider: Server;
let providerUrl: string;
const seen: { path: string; headers: Record<string, unknown>; body: Record<string, unknown> }[] =
  [];
beforeAll(async () => {
  plane = await sharedControlPlane();
  provider = createServer((request, response) => {
    let text = '';
    request.on('data', (piece) => (text += String(piece)));
    request.on('end', () => {
      if (request.method === 'GET') {
        lists.push({ path: request.url ?? '', headers: request.headers });
        return response.writeHead(listed.status).end(listed.text);
      }
      const body = JSON.parse(text);
      seen.push({ path: request.url ?? '', headers: request.headers, body });
      const reply = (status: number, answer: string) => response.writeHead(status).end(answer);
      if (body.model === 'no-key')
        return reply(401, `{"error":"bad key ${String(request.headers['authorization'])}"}`);
      if (body.model === 'page') return reply(200, '<html>');
      if (body.model === 'moved')
        return response.writeHead(302, { location: `${providerUrl}/elsewhere` }).end();
      const usage = request.url?.endsWith('/messages')
        ? { input_tokens: 9, output_tokens: 2 }
        : { prompt_tokens: 7, completion_tokens: 3 };
      return reply(200, JSON.stringify({ usage }));
    });
  });
  provider.listen(0, '127.0.0.1');
  await once(provider, 'listening');
  providerUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
}, 60_000);
afterAll(async () => {
  provider?.close();
});

const lists: { path: string; headers: Record<string, unknown> }[] = [];
/** Holds what the provider answers to a question for its models. */
let listed = { status: 404, text: '' };

let sequence = 0;
const asAdmin = async <Method extends string, Path extends string>(
  method: Method,
  path: Path,
  body?: unknown,
) => (await plane.call(method, path, { token: plane.adminToken, ...(body ? { body } : {}) })).body;
const upstream = async (
  protocol: 'openai' | 'anthropic' | 'azure',
  baseUrl = `${providerUrl}/v1`,
) =>
  (
    await asAdmin('POST', '/upstreams', {
      name: `tested-${(sequence += 1)}`,
      protocol,
      base_url: baseUrl,
      api_key: 'secret-of-the-provider',
    })
  ).id;
const run = (id: number, body: object = { model: 'm' }) =>
  asAdmin('POST', `/upstreams/${id}/test`, body);

test('a test is one bounded request in the upstream protocol, with its key, and reports its tokens', async () => {
  expect(await run(await upstream('openai'))).toMatchObject({
    ok: true,
    status: 200,
    input_tokens: 7,
    output_tokens: 3,
    error: null,
  });
  expect(seen.at(-1)).toMatchObject({
    path: '/v1/chat/completions',
    headers: { authorization: 'Bearer secret-of-the-provider' },
    body: { model: 'm', max_tokens: 16 },
  });
  expect(await run(await upstream('anthropic'))).toMatchObject({ ok: true, input_tokens: 9 });
  expect(seen.at(-1)).toMatchObject({
    path: '/v1/messages',
    headers: { 'x-api-key': 'secret-of-the-provider', 'anthropic-version': '2023-06-01' },
  });
  await run(await upstream('openai'), { model: 'm', kind: 'embedding' });
  expect(seen.at(-1)?.path).toBe('/v1/embeddings');
});

test('an upstream without an own credential is tested with its first enabled further one', async () => {
  const id = await upstream('openai');
  const add = (name: string, enabled: boolean) =>
    asAdmin('POST', `/upstreams/${id}/credentials`, { name, api_key: `key-${name}`, enabled });
  await add('off', false);
  await add('on', true);
  await asAdmin('DELETE', `/upstreams/${id}/credentials/0`);
  expect(await run(id)).toMatchObject({ ok: true });
  expect(seen.at(-1)?.headers).toMatchObject({ authorization: 'Bearer key-on' });
  const own = await run(id, { model: 'm', credential_id: 0 });
  expect(own).toMatchObject({ errors: [{ field: 'credential_id' }] });
  const beyond = await run(id, { model: 'm', credential_id: 2 ** 31 });
  expect(beyond).toMatchObject({ errors: [{ field: 'credential_id', code: 'too_large' }] });
});

test('without a model the one of its first route is asked; a provider without a list needs its name', async () => {
  const id = await upstream('openai');
  const azure = await upstream('azure');
  listed = { status: 404, text: 'no such path' };
  expect(await run(id, {})).toMatchObject({ errors: [{ field: 'model' }] });
  expect(await run(azure, {})).toMatchObject({ errors: [{ field: 'model' }] });
  const model = await asAdmin('POST', '/models', { name: 'tested' });
  await asAdmin('POST', '/routing', {
    model_id: model.id,
    upstream_id: id,
    upstream_model: 'at-the-provider',
  });
  expect(await run(id, {})).toMatchObject({ ok: true, model: 'at-the-provider' });
});

test('a list of models is shown without the names that repeat our key (S14)', async () => {
  const id = await upstream('openai');
  const names = ['m', 'Bearer secret-of-the-provider'].map((name) => ({ id: name }));
  listed = { status: 200, text: JSON.stringify({ data: names }) };
  expect(await run(id)).toMatchObject({ models: ['m'] });
  expect(await asAdmin('POST', `/upstreams/${id}/models`)).toMatchObject({ models: ['m'] });
  listed = { status: 404, text: '' };
});

test('a refusal is shown without our key (S14); a redirect is not followed (S4); a page is no answer', async () => {
  const id = await upstream('openai');
  const refused = await run(id, { model: 'no-key' });
  expect(refused).toMatchObject({ ok: false, status: 401, error: { kind: 'refused' } });
  expect(JSON.stringify(refused)).not.toContain('secret-of-the-provider');
  expect(await run(id, { model: 'moved' })).toMatchObject({ ok: false, status: 302 });
  expect(seen.some(({ path }) => path === '/elsewhere')).toBe(false);
  expect(await run(id, { model: 'page' })).toMatchObject({ error: { kind: 'unreadable' } });
});

test('an address that nothing listens on and a private one get different results', async () => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  await promisify(closed.close.bind(closed))();
  expect(await run(await upstream('openai', `http://127.0.0.1:${port}/v1`))).toMatchObject({
    ok: false,
    status: null,
    error: { kind: 'unreachable' },
  });
  const id = await upstream('openai');
  await plane.dataSource.query(
    "UPDATE upstreams SET base_url = 'http://10.0.0.1/v1', sealed_api_key = NULL WHERE id = $1",
    [id],
  );
  expect(await run(id)).toMatchObject({ ok: false, error: { kind: 'address_refused' } });
});

test('a test is in the activity log, without the key', async () => {
  const id = await upstream('openai');
  await run(id);
  const { data } = await asAdmin('GET', '/activity/logs?action=upstream.test');
  expect(data[0]).toMatchObject({ target_id: String(id), after: { ok: true } });
});

describe("the provider's models", () => {
  const page = (rows: unknown) => ({ status: 200, text: JSON.stringify({ data: rows }) });

  test('are listed beside the test, with the key and the headers of the protocol', async () => {
    listed = page([{ id: 'model-b' }, { id: 'model-a' }]);
    expect(await run(await upstream('anthropic'))).toMatchObject({
      ok: true,
      model: 'm',
      models: ['model-b', 'model-a'],
    });
    expect(lists.at(-1)).toMatchObject({
      path: '/v1/models?limit=1000',
      headers: { 'x-api-key': 'secret-of-the-provider', 'anthropic-version': '2023-06-01' },
    });
  });

  test('are the whole test while no route leads to the upstream', async () => {
    listed = page([{ id: 'model-a' }]);
    const id = await upstream('openai');
    const asked = seen.length;
    expect(await run(id, {})).toMatchObject({ ok: true, model: null, models: ['model-a'] });
    expect(seen).toHaveLength(asked);
    listed = { status: 401, text: 'bad key Bearer secret-of-the-provider' };
    const refused = await run(id, {});
    expect(refused).toMatchObject({ ok: false, status: 401, models: null });
    expect(JSON.stringify(refused)).not.toContain('secret-of-the-provider');
  });

  test('that cannot be read take nothing from a test that works', async () => {
    for (const answer of [{ status: 404, text: 'no' }, { status: 200, text: '<html>' }, page([])]) {
      listed = answer;
      expect(await run(await upstream('openai'))).toMatchObject({ ok: true, models: null });
    }
  });

  test('are bounded in number and length', async () => {
    const rows = Array.from({ length: 3_000 }, (_, index) => ({ id: `m-${index}` }));
    listed = page([{ id: 'x'.repeat(300) }, ...rows]);
    const { models } = await run(await upstream('openai'), {});
    expect(models).toHaveLength(2_000);
    expect(models[0]).toBe('m-0');
  });
});
