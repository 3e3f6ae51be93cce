import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { issueApiKey } from '@tollgate/contracts';
import { normaliseAllowlist } from '@tollgate/keyspace';
import type { SnapshotModel } from '@tollgate/snapshot';
import { startLocalUpstream, type LocalUpstream } from './testing/local-upstream.ts';
import {
  ACCOUNT_ID,
  NODE_CREDENTIAL,
  startNodeUnderTest,
  until,
  type NodeUnderTest,
} from './testing/node-under-test.ts';

let node: NodeUnderTest;
let upstream: LocalUpstream;
let model: SnapshotModel;

const USAGE = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };

beforeAll(async () => {
  node = await startNodeUnderTest({
    BODY_BYTES_MAX: '100000',
    CORS_ORIGINS: 'https://app.example',
  });
  upstream = await startLocalUpstream((response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        id: 'c',
        object: 'chat.completion',
        created: 1,
        model: 'x',
        choices: [
          { index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' },
        ],
        usage: USAGE,
      }),
    );
  });
  model = await node.addModel([{ baseUrl: upstream.baseUrl }], { name: 'team/model-a' });
});
afterAll(async () => {
  await node.stop();
  await upstream.close();
});

const chat = (more: object = {}) => ({
  model: model.name,
  messages: [{ role: 'user', content: 'hello' }],
  ...more,
});
const messages = (more: object = {}) => ({ ...chat(), max_tokens: 10, ...more });
type Errors = {
  error: { type: string; code?: string; message: string; param?: string | null };
  request_id?: string;
};
const bodyOf = async (response: Response) => (await response.json()) as Errors;

describe('who may ask', () => {
  test('behaviour 1: x-api-key and Bearer both authenticate, also beside a wrong one, with any query and header', async () => {
    const other = await node.putKey({ status: 'disabled' });
    const attempts: Record<string, string>[] = [
      { authorization: '', 'x-api-key': node.apiKey },
      { authorization: 'Bearer wrong', 'x-api-key': node.apiKey },
      { authorization: `Bearer ${other.key}`, 'x-api-key': node.apiKey },
      { 'x-api-key': 'sk-ant-wrong', 'x-unknown': 'yes', 'anthropic-version': '2099-01-01' },
    ];
    for (const headers of attempts)
      expect((await node.post('/v1/chat/completions?beta=true', chat(), headers)).status).toBe(200);
  });

  test('S9: a key of unknown format, an unknown key, a disabled and an expired one are answered alike', async () => {
    const unknown = `sk-tg-7-${'A'.repeat(43)}`;
    const disabled = (await node.putKey({ status: 'disabled' })).key;
    const expired = (await node.putKey({ expiresAtMs: 1 })).key;
    for (const key of ['nonsense', unknown, disabled, expired]) {
      const response = await node.post('/v1/chat/completions', chat(), {
        authorization: `Bearer ${key}`,
      });
      expect(response.status).toBe(401);
      expect(response.headers.get('x-should-retry')).toBe('false');
      expect(await bodyOf(response)).toMatchObject({
        error: { code: 'invalid_api_key', type: 'invalid_request_error' },
      });
    }
  });

  test('a caller without a valid key learns neither that the body is malformed nor that a model is unknown', async () => {
    const stranger = { authorization: `Bearer sk-tg-7-${'B'.repeat(43)}` };
    for (const body of [
      '{"broken',
      JSON.stringify(chat({ model: 'none' })),
      JSON.stringify(chat({ temperature: 9 })),
    ]) {
      expect((await node.post('/v1/chat/completions', body, stranger)).status).toBe(401);
      expect((await node.post('/v1/messages', body, stranger)).status).toBe(401);
    }
  });

  test('status, address and model rules of the live records decide from the next request on', async () => {
    const elsewhere = await node.putKey({ allowlist: normaliseAllowlist('203.0.113.0/24') });
    const narrow = await node.putKey({ allowedModels: 'other-*' });
    const send = (key: string) =>
      node.post('/v1/chat/completions', chat(), { authorization: `Bearer ${key}` });
    expect(await bodyOf(await send(elsewhere.key))).toMatchObject({
      error: { code: 'ip_not_allowed' },
    });
    expect(await bodyOf(await send(narrow.key))).toMatchObject({
      error: { code: 'model_not_allowed' },
    });
    await node.live.putAccount({
      accountId: ACCOUNT_ID,
      status: 'frozen',
      drain: false,
      revision: 2,
    });
    const frozen = await send(node.apiKey);
    expect(frozen.status).toBe(403);
    expect(await bodyOf(frozen)).toMatchObject({ error: { code: 'account_frozen' } });
    await node.live.putAccount({
      accountId: ACCOUNT_ID,
      status: 'active',
      drain: false,
      revision: 3,
    });
    expect((await send(node.apiKey)).status).toBe(200);
  });
});

describe('who is asking', () => {
  const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

  test("the caller's id stands beside the gateway's, and both go upstream with its trace and its user agent", async () => {
    const { status, headers } = await node.post('/v1/chat/completions', chat(), {
      'x-request-id': 'job-17',
      traceparent: TRACE,
      'user-agent': 'an-agent/2',
      cookie: 'secret=1',
    });
    expect(status).toBe(200);
    const rid = headers.get('x-request-id');
    expect([headers.get('request-id'), headers.get('x-client-request-id')]).toEqual([
      rid,
      'job-17',
    ]);
    const sent = upstream.requests.at(-1)?.incoming.headers;
    expect(sent).toMatchObject({
      'x-request-id': rid,
      'x-client-request-id': 'job-17',
      traceparent: TRACE,
    });
    expect(sent?.['user-agent']).toMatch(/^tollgate\/[\d.]+ an-agent\/2$/);
    expect(sent).not.toHaveProperty('cookie');
  });

  test('an error carries the id that the caller gave, too', async () => {
    const { headers } = await node.post('/v1/messages', '{', { 'x-request-id': 'job-18' });
    expect(headers.get('x-client-request-id')).toBe('job-18');
  });

  test('a page of an allowed origin may call every path and read errors; another one gets no permission', async () => {
    const ask = (path: string, method: string, origin: string) =>
      fetch(`${node.url}${path}`, {
        method,
        headers: {
          origin,
          ...(method === 'OPTIONS' && {
            'access-control-request-method': 'POST',
            'access-control-request-headers': 'authorization, content-type',
          }),
        },
      });
    for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/models/a/b']) {
      const preflight = await ask(path, 'OPTIONS', 'https://app.example');
      expect([path, preflight.status]).toEqual([path, 204]);
      expect(preflight.headers.get('access-control-allow-headers')).toBe(
        'authorization, content-type',
      );
    }
    const refused = await ask('/v1/models', 'GET', 'https://app.example');
    expect(refused.status).toBe(401);
    expect(refused.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(refused.headers.get('access-control-expose-headers')).toContain('x-request-id');
    const stranger = await ask('/v1/models', 'OPTIONS', 'https://evil.example');
    expect(stranger.status).toBe(405);
    expect(stranger.headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('limits and funds', () => {
  test('exactly N requests of an rpm of N pass; the next one gets the exact time to retry', async () => {
    const { key } = await node.putKey({ rpm: 3 });
    const send = () =>
      node.post('/v1/chat/completions', chat(), { authorization: `Bearer ${key}` });
    const passed = [await send(), await send(), await send()];
    expect(passed.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(passed.map(({ headers }) => headers.get('x-ratelimit-remaining-requests'))).toEqual([
      '2',
      '1',
      '0',
    ]);
    for (let round = 0; round < 3; round++) {
      const denied = await send();
      expect(denied.status).toBe(429);
      expect(Number(denied.headers.get('retry-after'))).toBeLessThanOrEqual(60);
      expect(denied.headers.get('x-ratelimit-reset-requests')).toMatch(/^[\d.]+s$/);
      expect(denied.headers.get('ratelimit-policy')).toBe('"rpm";q=3;w=60');
      expect(await bodyOf(denied)).toMatchObject({
        error: { code: 'rate_limit_exceeded', type: 'rate_limit_error' },
      });
    }
  });

  test('an empty balance is 429 insufficient_quota on chat and 402 billing_error on messages, both final', async () => {
    const poor = await node.addModel(
      [{ baseUrl: upstream.baseUrl }, { baseUrl: upstream.baseUrl, protocol: 'anthropic' }],
      {},
      0,
    );
    const onChat = await node.post('/v1/chat/completions', chat({ model: poor.name }));
    expect([onChat.status, onChat.headers.get('x-should-retry')]).toEqual([429, 'false']);
    expect(await bodyOf(onChat)).toMatchObject({
      error: { code: 'insufficient_quota', type: 'insufficient_quota' },
    });
    const onMessages = await node.post('/v1/messages', messages({ model: poor.name }));
    expect([onMessages.status, onMessages.headers.get('x-should-retry')]).toEqual([402, 'false']);
    expect(await bodyOf(onMessages)).toMatchObject({
      type: 'error',
      error: { type: 'billing_error' },
    });
  });
});

describe('model lists and token counts', () => {
  const keyOf = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
  const list = (key: string) => fetch(`${node.url}/v1/models`, keyOf(key));

  test('have a window of their own: 60 a minute whatever the rpm, and none of them counts against inference', async () => {
    const { key } = await node.putKey({ rpm: 1 });
    const statuses = await Promise.all(Array.from({ length: 60 }, () => list(key)));
    expect(statuses.filter(({ status }) => status === 200)).toHaveLength(60);
    const refused = await list(key);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await bodyOf(refused)).error.message).toContain('60 model lists and token counts');
    const counted = await node.post('/v1/messages/count_tokens', chat(), keyOf(key).headers);
    expect(counted.status).toBe(429);
    const inference = await node.post('/v1/chat/completions', chat(), keyOf(key).headers);
    expect(inference.status).toBe(200);
  });

  test('a key with a higher rpm may ask that often', async () => {
    const { key } = await node.putKey({ rpm: 70 });
    const statuses = await Promise.all(Array.from({ length: 71 }, () => list(key)));
    expect(statuses.filter(({ status }) => status === 200)).toHaveLength(70);
  });
});

describe('what is refused', () => {
  test('behaviour 2 and 3: errors take the shape of the path and carry both request ids', async () => {
    for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
      const response = await node.post(path, '{"model"');
      expect(response.status).toBe(400);
      const body = await bodyOf(response);
      expect(body).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
      expect(body.request_id).toBe(response.headers.get('request-id'));
      expect(response.headers.get('x-request-id')).toBe(response.headers.get('request-id'));
    }
    const response = await node.post('/v1/chat/completions', '{"model"');
    expect(await bodyOf(response)).toMatchObject({
      error: { type: 'invalid_request_error', param: null },
    });
  });

  test('names the field that is wrong', async () => {
    const response = await node.post('/v1/chat/completions', chat({ temperature: 3 }));
    expect(await bodyOf(response)).toMatchObject({ error: { param: 'temperature' } });
    expect((await node.post('/v1/messages', { ...chat() })).status).toBe(400);
  });

  test('a model that is unknown, unsubscribed or off the shelf is 404, one of another kind or protocol 400', async () => {
    const offShelf = await node.addModel([{ baseUrl: upstream.baseUrl }], { is_on_shelf: false });
    const embedding = await node.addModel([{ baseUrl: upstream.baseUrl }], { kind: 'embedding' });
    for (const name of ['none', offShelf.name, '__proto__']) {
      const response = await node.post('/v1/chat/completions', chat({ model: name }));
      expect([name, response.status]).toEqual([name, 404]);
      expect(await bodyOf(response)).toMatchObject({ error: { code: 'model_not_found' } });
    }
    expect((await node.post('/v1/chat/completions', chat({ model: embedding.name }))).status).toBe(
      400,
    );
  });

  test('S37: a body over the limit is 413, with a length or chunked', async () => {
    const big = JSON.stringify(chat({ padding: 'x'.repeat(200_000) }));
    expect((await node.post('/v1/chat/completions', big)).status).toBe(413);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const outgoing = httpRequest(
        `${node.url}/v1/chat/completions`,
        {
          method: 'POST',
          headers: { authorization: `Bearer ${node.apiKey}`, 'transfer-encoding': 'chunked' },
        },
        (response) => {
          resolve(response.statusCode);
          response.resume();
        },
      );
      outgoing.on('error', reject);
      outgoing.write(big);
      outgoing.end();
    });
    expect(status).toBe(413);
  });

  test('a caller without a valid key is refused before a large body is read or decoded; a customer gets the error in it', async () => {
    const { hostname, port } = new URL(node.url);
    for (const [path, framing] of [
      ['chat/completions', 'content-length: 90000'],
      ['messages', 'transfer-encoding: chunked'],
      ['responses', 'content-length: 20\r\ncontent-encoding: gzip'],
      ['messages/count_tokens', 'content-length: 20'],
    ]) {
      const answerTo = (key: string) =>
        new Promise<string>((resolve, reject) => {
          // The headers alone: a server that waits for the body does not answer.
          const socket = connect(Number(port), hostname, () =>
            socket.write(
              `POST /v1/${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\n${framing}\r\n\r\n`,
            ),
          );
          socket.once('data', (data) => {
            resolve(data.toString().slice(0, 12));
            socket.destroy();
          });
          socket.once('error', reject);
        });
      expect([path, await answerTo(`sk-tg-1-${'A'.repeat(43)}`)]).toEqual([path, 'HTTP/1.1 401']);
    }
    expect(
      (await node.post('/v1/chat/completions', `{"model":"${model.name}",${' '.repeat(70_000)}`))
        .status,
    ).toBe(400);
  });

  test('the slow uploads of one account are refused before they fill the node, others have room meanwhile, and it recovers', async () => {
    const other = issueApiKey(ACCOUNT_ID + 1);
    await node.live.putKey(
      node.keyRecord({ accountId: ACCOUNT_ID + 1, keyHash: other.hash, id: 999 }),
    );
    await node.live.putAccount({
      accountId: ACCOUNT_ID + 1,
      status: 'active',
      drain: false,
      revision: 1,
    });
    const { hostname, port } = new URL(node.url);
    const half = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-api-key: ${node.apiKey}\r\ncontent-length: 99000\r\n\r\n${' '.repeat(98_000)}`;
    const answers: string[] = [];
    const sockets = Array.from({ length: 30 }, () =>
      connect(Number(port), hostname).on('error', () => undefined),
    );
    for (const socket of sockets)
      socket.on('data', (data) => answers.push(data.toString().slice(0, 12))).write(half);
    await until(async () => answers.length > 0);
    expect(new Set(answers)).toEqual(new Set(['HTTP/1.1 429']));
    expect((await node.post('/v1/chat/completions', chat())).status).toBe(200);
    const large = chat({ padding: 'x'.repeat(70_000) });
    expect((await node.post('/v1/chat/completions', large)).status).toBe(429);
    // It has subscribed to nothing: the refusal shows that its body was read.
    expect(
      (await node.post('/v1/chat/completions', large, { authorization: `Bearer ${other.key}` }))
        .status,
    ).toBe(404);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await node.post('/v1/chat/completions', large)).status === 200);
  });

  test('unknown paths are 404, other methods 405, unknown encodings 415', async () => {
    expect((await fetch(`${node.url}/v1/nothing`)).status).toBe(404);
    const wrong = await fetch(`${node.url}/v1/chat/completions`);
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await fetch(`${node.url}/v1/models`, { method: 'DELETE' })).status).toBe(405);
    expect(
      (await node.post('/v1/chat/completions', chat(), { 'content-encoding': 'lzma' })).status,
    ).toBe(415);
  });

  test('S30: a request with two lengths, or a length and chunks, is refused and its connection closed', async () => {
    const { hostname, port } = new URL(node.url);
    for (const headers of [
      'content-length: 5\r\ncontent-length: 6',
      'content-length: 5\r\ntransfer-encoding: chunked',
      'x-folded: a\r\n b\r\ntransfer-encoding: xchunked',
    ]) {
      const answer = await new Promise<string>((resolve, reject) => {
        const socket = connect(Number(port), hostname, () =>
          socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n${headers}\r\n\r\nhello`),
        );
        let text = '';
        socket.on('data', (data) => (text += data.toString()));
        socket.on('close', () => resolve(text));
        socket.on('error', reject);
      });
      expect(answer).toMatch(/^HTTP\/1\.1 400/);
    }
  });

  test('a chunk extension is 400 wherever it stands, and nothing goes upstream', async () => {
    const { hostname, port } = new URL(node.url);
    const before = upstream.requests.length;
    const body = JSON.stringify(chat());
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${node.apiKey}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;
    const size = body.length.toString(16);
    for (const parts of [
      [`${head}${size};a=b\r\n${body}\r\n0\r\n\r\n`],
      [head, `${size}\r\n${body}\r\n`, '0;a\r\n\r\n'],
    ]) {
      const socket = connect(Number(port), hostname);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      let text = '';
      socket.on('data', (data) => (text += data.toString()));
      const closed = once(socket, 'close');
      for (const part of parts) await new Promise((sent) => socket.write(part, sent));
      await closed;
      expect(text).toMatch(/^HTTP\/1\.1 400/);
    }
    expect(upstream.requests.length).toBe(before);
  });
});

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

  test('a node that is stopped answers 503 and fails readiness, and serves again when it is started', async () => {
    await node.fleet.setDesired('node-test', { state: 'stopped' });
    await until(async () => (await fetch(`${node.url}/readyz`)).status === 503);
    const response = await node.post('/v1/chat/completions', chat());
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
    await until(async () => (await node.report())?.state === 'stopped');
    await node.fleet.setDesired('node-test', { state: 'serve' });
    await until(async () => (await fetch(`${node.url}/readyz`)).status === 200);
  });
});
