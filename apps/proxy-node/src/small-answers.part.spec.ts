import { describe, expect, test } from '@jest/globals';
import { request as httpRequest } from 'node:http';
import { until } from '@tollgate/harness';
import { bodyOf, chat, model, node, upstream, type Errors } from './testing/answering-node.ts';
import { NODE_CREDENTIAL } from './testing/node-under-test.ts';

describe('lists and small answers', () => {
  test('behaviour 32: models come in the shape both SDKs read, all subscribed ones, one by its name with a slash', async () => {
    const response = await fetch(`${node.url}/v1/models`, {
      headers: { authorization: `Bearer ${node.apiKey}` },
    });
    const list = (await response.json()) as {
      object: string;
      data: { id: string }[];
      has_more: boolean;
    };
    expect(list).toMatchObject({ object: 'list', has_more: false });
    expect(list.data.find(({ id }) => id === model.name)).toEqual({
      id: 'team/model-a',
      object: 'model',
      created: 1_767_225_600,
      owned_by: 'tollgate',
      type: 'model',
      display_name: model.display_name,
      created_at: '2026-01-01T00:00:00.000Z',
      max_input_tokens: null,
      max_tokens: null,
      lifecycle: 'active',
      deprecated_at: null,
      retires_at: null,
      line: null,
      capabilities: null,
      callable: true,
    });
    const one = await fetch(`${node.url}/v1/models/team/model-a`, {
      headers: { 'x-api-key': node.apiKey },
    });
    expect(await one.json()).toMatchObject({ id: 'team/model-a' });
    expect(
      (await fetch(`${node.url}/v1/models/none`, { headers: { 'x-api-key': node.apiKey } })).status,
    ).toBe(404);
    expect((await fetch(`${node.url}/v1/models`)).status).toBe(401);
  });

  test('an alias is answered as if it were the model: by its own name, charged to the same subscription, allowed by the real name', async () => {
    const real = await node.addModel([{ baseUrl: upstream.baseUrl }], {
      name: 'team/model-b',
      aliases: ['b', 'latest'],
    });
    const allowed = (await node.putKey({ allowedModels: 'team/*' })).key;
    const answer = await node.post('/v1/chat/completions', chat({ model: 'latest' }), {
      authorization: `Bearer ${allowed}`,
    });
    expect([answer.status, ((await answer.json()) as { model: string }).model]).toEqual([
      200,
      'latest',
    ]);
    expect(await node.settledBalance(real)).toBe(1_000_000 - 4);
    expect((await node.post('/v1/messages/count_tokens', chat({ model: 'b' }))).status).toBe(200);
    const byAlias = (await node.putKey({ allowedModels: 'latest' })).key;
    expect(
      (
        await node.post('/v1/chat/completions', chat({ model: 'latest' }), {
          authorization: `Bearer ${byAlias}`,
        })
      ).status,
    ).toBe(403);
    const get = async (path: string) =>
      (
        await fetch(`${node.url}${path}`, { headers: { authorization: `Bearer ${node.apiKey}` } })
      ).json();
    expect(await get('/v1/models/latest')).toMatchObject({
      id: 'team/model-b',
      aliases: ['b', 'latest'],
    });
    const { data } = (await get('/v1/models')) as { data: { id: string }[] };
    expect(data.map(({ id }) => id)).not.toContain('latest');
  });

  test('lists every subscription, and of each whether this key can call it; `callable` filters', async () => {
    const to = [{ baseUrl: upstream.baseUrl }];
    const closed = await node.addModel(to, { name: 'own/closed', is_on_shelf: false });
    const unrouted = await node.addModel([], { name: 'own/unrouted' });
    const later = await node.addModel(to, { name: 'own/later' });
    const open = await node.addModel(to, { name: 'own/open' });
    const { key } = await node.putKey({ allowedModels: 'own/*, !own' });
    const bearer = { authorization: `Bearer ${key}` };
    const list = async (query: string) =>
      (
        (await (await fetch(`${node.url}/v1/models${query}`, { headers: bearer })).json()) as {
          data: { id: string; callable: boolean }[];
        }
      ).data;
    const all = new Map((await list('')).map(({ id, callable }) => [id, callable]));
    for (const { name, callable } of [
      { ...closed, callable: false },
      { ...unrouted, callable: false },
      { ...later, callable: true },
      { ...open, callable: true },
      { ...model, callable: false },
    ]) {
      expect([name, all.get(name)]).toEqual([name, callable]);
      const { status } = await node.post('/v1/chat/completions', chat({ model: name }), bearer);
      expect([name, status === 200]).toEqual([name, callable]);
    }
    expect((await list('?callable=true')).map(({ id }) => id)).toEqual(['own/later', 'own/open']);
    expect((await list('?callable=false')).map(({ id }) => id)).not.toContain('own/open');
    const { status } = await fetch(`${node.url}/v1/models?callable=yes`, { headers: bearer });
    expect(status).toBe(400);
  });

  test("the model list refuses in the caller's protocol", async () => {
    const ask = async (headers: Record<string, string>) =>
      (await (
        await fetch(`${node.url}/v1/models/none`, {
          headers: { 'x-api-key': node.apiKey, ...headers },
        })
      ).json()) as Errors;
    expect(await ask({ 'anthropic-version': '2023-06-01' })).toMatchObject({
      type: 'error',
      error: { type: 'not_found_error' },
    });
    expect(await ask({})).toMatchObject({ error: { code: 'model_not_found', param: 'model' } });
  });

  test('a trailing slash names the same path, and a path that is not served says what is', async () => {
    const headers = { authorization: `Bearer ${node.apiKey}` };
    expect((await node.post('/v1/chat/completions/', chat())).status).toBe(200);
    expect((await fetch(`${node.url}/v1/models/`, { headers })).status).toBe(200);
    const one = await fetch(`${node.url}/v1/models/team/model-a/`, { headers });
    expect(await one.json()).toMatchObject({ id: 'team/model-a' });
    const { error } = await bodyOf(await node.post('/v1/images/generations', chat()));
    expect(error.message).toContain('POST /v1/chat/completions, POST /v1/messages');
    expect(error.message).toContain('GET /v1/models, GET /v1/models/{name}');
    expect(error.message).not.toMatch(/GET \/v1\/responses(?:,|\.)/);
  });

  test('pages the list for Anthropic clients only', async () => {
    const page = async (query: string) =>
      (await (
        await fetch(`${node.url}/v1/models?${query}`, {
          headers: { 'x-api-key': node.apiKey, 'anthropic-version': '2023-06-01' },
        })
      ).json()) as { data: { id: string }[]; has_more: boolean; last_id: string };
    const first = await page('limit=1');
    expect([first.data.length, first.has_more]).toEqual([1, true]);
    const second = await page(`limit=1&after_id=${encodeURIComponent(first.last_id)}`);
    expect(second.data[0]?.id).not.toBe(first.data[0]?.id);
  });

  test('behaviour 33: counts tokens of 25 parallel calls, free of charge and of the request limit', async () => {
    const { key } = await node.putKey({ rpm: 1 });
    const counts = await Promise.all(
      Array.from(
        { length: 25 },
        async () =>
          (await (
            await node.post('/v1/messages/count_tokens?beta=true', chat(), {
              authorization: `Bearer ${key}`,
            })
          ).json()) as { input_tokens: number },
      ),
    );
    expect(new Set(counts.map(({ input_tokens }) => input_tokens)).size).toBe(1);
    expect(counts[0]?.input_tokens).toBeGreaterThan(0);
  });

  test('refuses a web socket in a way that has Codex go on with plain requests', async () => {
    const [status, body] = await new Promise<[number | undefined, string]>((resolve, reject) => {
      const upgrade = {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      };
      const request = httpRequest(
        `${node.url}/v1/responses`,
        { headers: { ...upgrade, authorization: `Bearer ${node.apiKey}` } },
        (response) => {
          let text = '';
          response.on('data', (bytes: Buffer) => (text += bytes.toString()));
          response.on('end', () => resolve([response.statusCode, text]));
        },
      );
      request.on('upgrade', () => reject(new Error('it was upgraded')));
      request.on('error', reject);
      request.end();
    });
    expect(status).toBe(426);
    expect(JSON.parse(body)).toMatchObject({ error: { code: 'websocket_not_supported' } });
    expect(
      (
        await fetch(`${node.url}/v1/responses`, {
          headers: { authorization: `Bearer ${node.apiKey}` },
        })
      ).status,
    ).toBe(405);
  });

  test('greets Claude Code, and says how it is', async () => {
    expect((await fetch(`${node.url}/`, { method: 'HEAD' })).status).toBe(200);
    expect((await fetch(`${node.url}/api/hello`, { method: 'HEAD' })).status).toBe(200);
    expect((await fetch(`${node.url}/`, { method: 'HEAD' })).status).toBe(200);
    expect((await fetch(`${node.url}/healthz`)).status).toBe(200);
    expect(await (await fetch(`${node.url}/readyz`)).json()).toMatchObject({
      ready: true,
      state: 'serving',
    });
  });

  test('S45: metrics are for the holder of the node credential', async () => {
    const denied = await fetch(`${node.url}/metrics`);
    expect([denied.status, denied.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect(await denied.text()).toMatch(/^Metrics need .*NODE_CREDENTIAL\n$/);
    const metrics = await fetch(`${node.url}/metrics`, {
      headers: { authorization: `Bearer ${NODE_CREDENTIAL}` },
    });
    expect(await metrics.text()).toContain('gen_ai_client_operation_duration_seconds');
  });

  test('the report of a node says how long Redis takes to answer it, and how far its clock is from that of Redis', async () => {
    await until('the report has the state of Redis', async () =>
      Boolean((await node.report())?.redis),
    );
    const { redis } = (await node.report()) ?? {};
    expect(redis?.round_trip_ms).toBeGreaterThan(0);
    // Both run on this machine: what is left is the way there and back.
    expect(Math.abs(redis?.clock_ahead_ms ?? 1_000)).toBeLessThan(500);
  });

  test('a node that is stopped answers 503 and fails readiness, and serves again when it is started', async () => {
    await node.fleet.setDesired('node-test', { state: 'stopped' });
    await until(
      'the node is not ready',
      async () => (await fetch(`${node.url}/readyz`)).status === 503,
    );
    const { headers } = await fetch(`${node.url}/readyz`);
    expect(headers.get('x-envoy-immediate-health-check-fail')).toBe('true');
    const response = await node.post('/v1/chat/completions', chat());
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
    // Envoy's sample asks another node then.
    expect(response.headers.get('x-envoy-immediate-health-check-fail')).toBe('true');
    await until(
      'the node reports that it is stopped',
      async () => (await node.report())?.state === 'stopped',
    );
    await node.fleet.setDesired('node-test', { state: 'serve' });
    await until(
      'the node is ready again',
      async () => (await fetch(`${node.url}/readyz`)).status === 200,
    );
  });
});
