import { describe, expect, test } from '@jest/globals';
import { normaliseAllowlist } from '@tollgate/keyspace';
import { bodyOf, chat, messages, node, upstream } from './testing/answering-node.ts';
import { startLocalUpstream } from './testing/local-upstream.ts';
import { ACCOUNT_ID } from './testing/node-under-test.ts';

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

  test('a stream ends within a second of the word that its key was deleted', async () => {
    const endless = await startLocalUpstream((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const chunk = { choices: [{ index: 0, delta: { content: 'word ' } }] };
      const timer = setInterval(() => response.write(`data: ${JSON.stringify(chunk)}\n\n`), 20);
      response.on('close', () => clearInterval(timer));
    });
    try {
      const { name } = await node.addModel([{ baseUrl: endless.baseUrl }]);
      const [ended, other] = [await node.putKey({}), await node.putKey({})];
      const streamOf = async ({ key }: { key: string }) => {
        const body = chat({ model: name, stream: true });
        const headers = { authorization: `Bearer ${key}` };
        const response = await node.post('/v1/chat/completions', body, headers);
        const reader = response.body?.getReader();
        await reader?.read();
        return reader;
      };
      const [reader, running] = [await streamOf(ended), await streamOf(other)];
      const row = { keyHash: ended.hash, status: 'deleted', revision: 2 } as const;
      await node.live.putKey(node.keyRecord({ ...row, id: 999_999 }));
      await node.fleet.announce({ kind: 'key_changed', key_hash: ended.hash });
      const endedAt = performance.now();
      while (!(await reader?.read())?.done);
      expect(performance.now() - endedAt).toBeLessThan(1_000);
      expect((await running?.read())?.done).toBe(false);
      await running?.cancel();
    } finally {
      await endless.close();
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
    const { error } = await bodyOf(await ask('/v1/nothing', 'GET', 'https://app.example'));
    const servedMethods = [...error.message.matchAll(/\b([A-Z]+) \/v1\//g)].map(([, name]) => name);
    expect(servedMethods).toContain('DELETE');
    for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/models/a/b']) {
      const preflight = await ask(path, 'OPTIONS', 'https://app.example');
      expect([path, preflight.status]).toEqual([path, 204]);
      expect(preflight.headers.get('access-control-allow-headers')).toBe(
        'authorization, content-type',
      );
      expect(preflight.headers.get('access-control-allow-methods')?.split(', ')).toEqual(
        expect.arrayContaining(servedMethods),
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

  test('an empty balance is 429 insufficient_quota on chat and 402 billing_error on messages, both final and with the way out', async () => {
    const way = 'Buy tokens for the model in the console';
    const poor = await node.addModel(
      [{ baseUrl: upstream.baseUrl }, { baseUrl: upstream.baseUrl, protocol: 'anthropic' }],
      {},
      0,
    );
    const onChat = await node.post('/v1/chat/completions', chat({ model: poor.name }));
    expect([onChat.status, onChat.headers.get('x-should-retry')]).toEqual([429, 'false']);
    expect(await bodyOf(onChat)).toMatchObject({
      error: {
        code: 'insufficient_quota',
        type: 'insufficient_quota',
        message: expect.stringMatching(new RegExp(`^You exceeded your current quota: .*${way}`)),
      },
    });
    const onMessages = await node.post('/v1/messages', messages({ model: poor.name }));
    expect([onMessages.status, onMessages.headers.get('x-should-retry')]).toEqual([402, 'false']);
    expect(await bodyOf(onMessages)).toMatchObject({
      type: 'error',
      error: {
        type: 'billing_error',
        message: expect.stringMatching(new RegExp(`^Your credit balance is too low: .*${way}`)),
      },
    });
  });
});

describe('a refusal for lack of tokens', () => {
  test('names the balance and how many tokens are enough, and with so many the same request starts', async () => {
    const poor = await node.addModel([{ baseUrl: upstream.baseUrl }], {}, 2);
    const ask = () => node.post('/v1/chat/completions', chat({ model: poor.name }));
    const { error } = await bodyOf(await ask());
    const named = /for this model is (\d+), and (\d+) are enough/.exec(error.message);
    const [balance, enough] = [Number(named?.[1]), Number(named?.[2])];
    expect(balance).toBe(2);
    expect(enough).toBeGreaterThan(16);
    await node.credit(poor, 2, enough - balance);
    expect((await ask()).status).toBe(200);
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

  test('a key without an rpm may ask 600 times a minute', async () => {
    const { key } = await node.putKey({ rpm: 0 });
    const statuses = await Promise.all(Array.from({ length: 601 }, () => list(key)));
    expect(statuses.filter(({ status }) => status === 200)).toHaveLength(600);
  });
});
