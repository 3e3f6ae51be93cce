import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connect } from 'node:net';
import { issueApiKey, parseApiKey, parseOutboundPolicy } from '@tollgate/contracts';
import type { SnapshotModel } from '@tollgate/snapshot';
import { startLocalUpstream, type LocalUpstream } from './testing/local-upstream.ts';
import { startNodeUnderTest, UPSTREAM_KEY, type NodeUnderTest } from './testing/node-under-test.ts';
import { guardedConnector } from './upstream/guarded-connector.ts';

/** The attacks of the threat model that a node must bear by itself, by number. Attacks on a single part are in that part's spec. */
let node: NodeUnderTest;
let upstream: LocalUpstream;
let model: SnapshotModel;
/** What the upstream says next. */
let usage: unknown;
let extraHeaders: Record<string, string> = {};

const HONEST = { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 };

beforeAll(async () => {
  node = await startNodeUnderTest();
  upstream = await startLocalUpstream((response, body) => {
    const choices = [
      {
        index: 0,
        message: { role: 'assistant', content: `you said ${body.length}` },
        finish_reason: 'stop',
      },
    ];
    response.writeHead(200, { 'content-type': 'application/json', ...extraHeaders });
    response.end(
      JSON.stringify({
        id: 'c1',
        object: 'chat.completion',
        created: 1,
        model: 'real',
        choices,
        usage,
      }),
    );
  });
  model = await node.addModel([{ baseUrl: upstream.baseUrl }], {}, 100_000_000);
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
async function charged(send: () => Promise<unknown>): Promise<number> {
  const before = await node.settledBalance(model);
  await send();
  return before - (await node.settledBalance(model));
}

describe('where a node connects to', () => {
  const dial = (protocol: 'http:' | 'https:', hostname: string) =>
    new Promise<string>((resolve) => {
      const connector = guardedConnector({
        policy: parseOutboundPolicy(''),
        connectTimeoutMs: 500,
      });
      connector({ hostname, host: hostname, protocol, port: '9' }, (error, socket) => {
        socket?.destroy();
        resolve(error && 'code' in error ? String(error.code) : 'dialled');
      });
    });

  test.each([
    '127.0.0.1',
    '0.0.0.0',
    '169.254.169.254',
    '100.64.0.1',
    '10.0.0.1',
    '[::1]',
    '[fd00::1]',
    '[fe80::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:a9fe:a9fe]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
  ])('S1, S2: %s is refused at connect', async (hostname) => {
    for (const protocol of ['http:', 'https:'] as const)
      expect(await dial(protocol, hostname)).toBe('ADDRESS_REFUSED');
  });

  test('S3: a name is judged by the address it leads to when it is dialled', async () => {
    for (const protocol of ['http:', 'https:'] as const)
      expect(await dial(protocol, 'localhost')).toBe('ADDRESS_REFUSED');
  });

  test('S5: a key is never sent unencrypted to a public address', async () => {
    expect(await dial('http:', '93.184.215.14')).toBe('ADDRESS_REFUSED');
  });

  test('S6: nothing a client sends, at the top or nested, chooses where its request goes', async () => {
    usage = HONEST;
    const elsewhere = await startLocalUpstream((response) => response.end());
    const target = {
      api_base: elsewhere.baseUrl,
      base_url: elsewhere.baseUrl,
      custom_host: elsewhere.baseUrl,
    };
    const response = await node.post(
      '/v1/chat/completions',
      chat({ ...target, user_config: target, metadata: target, extra_body: target }),
      {
        'x-portkey-custom-host': elsewhere.baseUrl,
        'x-api-base': elsewhere.baseUrl,
        host: 'evil.example',
      },
    );
    expect(response.status).toBe(200);
    expect(elsewhere.requests).toHaveLength(0);
    await elsewhere.close();
  });
});

describe('what a node passes on', () => {
  test('S31: of an upstream answer its status, type and body, and no header that sets a cookie, an origin or a place', async () => {
    usage = HONEST;
    extraHeaders = {
      'set-cookie': 'a=b',
      'access-control-allow-origin': '*',
      location: 'http://evil.example',
      'x-secret': 'y',
      server: 'theirs',
      connection: 'keep-alive, x-secret',
      'www-authenticate': 'Basic',
    };
    const { headers } = await node.post('/v1/chat/completions', chat());
    extraHeaders = {};
    for (const name of [
      'set-cookie',
      'access-control-allow-origin',
      'location',
      'x-secret',
      'server',
      'www-authenticate',
    ])
      expect([name, headers.get(name)]).toEqual([name, null]);
  });

  test('S31, S33: of a client neither its hop-by-hop headers nor those it names in Connection', async () => {
    usage = HONEST;
    const { hostname, port } = new URL(node.url);
    const body = JSON.stringify(chat());
    const headers = [
      'connection: close, x-named',
      'x-named: 1',
      'te: trailers',
      'upgrade: h2c',
      'proxy-authorization: Basic x',
      'proxy-connection: keep-alive',
      'cookie: a=b',
      'trailer: x-t',
      'expect: 100-continue',
    ];
    await new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () =>
        socket.write(
          `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${node.apiKey}\r\n${headers.join('\r\n')}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        ),
      );
      socket
        .on('data', () => undefined)
        .on('close', resolve)
        .on('error', reject);
    });
    const seen = upstream.requests.at(-1)?.incoming.headers ?? {};
    for (const name of [
      'x-named',
      'te',
      'upgrade',
      'proxy-authorization',
      'proxy-connection',
      'cookie',
      'trailer',
      'expect',
    ])
      expect([name, seen[name]]).toEqual([name, undefined]);
    expect(seen.authorization).toBe(`Bearer ${UPSTREAM_KEY}`);
  });

  test('S32: a line break in a model name or a message starts no header, here or upstream', async () => {
    const response = await node.post(
      '/v1/chat/completions',
      chat({ model: 'x\r\nset-cookie: a=b' }),
    );
    expect(response.status).toBe(404);
    expect(response.headers.get('set-cookie')).toBeNull();
    usage = HONEST;
    expect((await node.post('/v1/chat/completions', chat({ user: 'a\r\nx-evil: 1' }))).status).toBe(
      200,
    );
    expect(upstream.requests.at(-1)?.incoming.headers['x-evil']).toBeUndefined();
  });

  test('S39: no other origin may read the proxy interface', async () => {
    for (const origin of ['https://evil.example', 'null']) {
      const preflight = await fetch(`${node.url}/v1/chat/completions`, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization',
        },
      });
      const answer = await node.post('/v1/chat/completions', chat(), { origin });
      for (const { headers } of [preflight, answer])
        expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual(
          [],
        );
    }
  });

  test('S50: equal requests are each answered by the upstream, never from what another caller got', async () => {
    usage = HONEST;
    const other = await node.putKey({});
    const before = upstream.requests.length;
    for (const key of [node.apiKey, other.key])
      expect(
        (await node.post('/v1/chat/completions', chat(), { authorization: `Bearer ${key}` }))
          .status,
      ).toBe(200);
    expect(upstream.requests.length).toBe(before + 2);
  });
});

describe('what a request costs', () => {
  test.each([
    ['negative', { prompt_tokens: -5, completion_tokens: -1_000, total_tokens: -1_005 }],
    ['absurd', { prompt_tokens: 1e15, completion_tokens: 1e15, total_tokens: 2e15 }],
    ['no numbers', { prompt_tokens: 'NaN', completion_tokens: null }],
    ['beyond exact', { prompt_tokens: 2 ** 53, completion_tokens: 1, total_tokens: 1 }],
    ['all zero', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }],
    [
      'on a prototype',
      JSON.parse('{"__proto__":{"prompt_tokens":5,"completion_tokens":5}}') as object,
    ],
  ])(
    'S27: a report that is %s neither raises the balance nor empties it: the gateway counts by itself',
    async (_kind, lie) => {
      usage = lie;
      const cost = await charged(() => node.post('/v1/chat/completions', chat()));
      expect(cost).toBeGreaterThan(0);
      expect(cost).toBeLessThan(20);
    },
  );

  test('S38: a large body is metered and checked like a small one', async () => {
    usage = HONEST;
    const large = { messages: [{ role: 'user', content: 'word '.repeat(400_000) }] };
    expect(await charged(() => node.post('/v1/chat/completions', chat(large)))).toBe(16);
    for (const wrong of [{ temperature: 9 }, { max_tokens: -1 }, { n: 1e9 }])
      expect((await node.post('/v1/chat/completions', chat({ ...large, ...wrong }))).status).toBe(
        400,
      );
    const disabled = await node.putKey({ status: 'disabled' });
    expect(
      (
        await node.post('/v1/chat/completions', chat(large), {
          authorization: `Bearer ${disabled.key}`,
        })
      ).status,
    ).toBe(401);
  });

  test('a prompt hidden where only the upstream looks is charged as it reports', async () => {
    usage = { prompt_tokens: 250_000, completion_tokens: 5, total_tokens: 250_005 };
    expect(
      await charged(() =>
        node.post(
          '/v1/chat/completions',
          chat({ a_field_of_the_upstream: 'word '.repeat(250_000) }),
        ),
      ),
    ).toBe(250_005);
  });
});

describe('who may call', () => {
  test('S16: a token of another kind is no key', async () => {
    const forged = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from('{"sub":"1"}').toString('base64url')}.`;
    for (const authorization of [
      `Bearer ${forged}`,
      `Basic ${Buffer.from('admin:admin').toString('base64')}`,
      'Bearer',
      `Bearer ${node.apiKey} x`,
      `Bearer ${node.apiKey.slice(0, -1)}`,
    ]) {
      expect([
        authorization,
        (await node.post('/v1/chat/completions', chat(), { authorization })).status,
      ]).toEqual([authorization, 401]);
    }
  });

  test('S24, S46: a key names its account, and a key with another account written into it is not valid', async () => {
    const { key } = issueApiKey(8);
    const moved = node.apiKey.replace(/^sk-tg-[0-9a-z]+-/, key.slice(0, key.indexOf('-', 6) + 1));
    expect(parseApiKey(moved)?.accountId).toBe(8);
    expect(
      (await node.post('/v1/chat/completions', chat(), { authorization: `Bearer ${moved}` }))
        .status,
    ).toBe(401);
  });

  test('S17: a key, an account or a subscription taken away is refused with the very next request', async () => {
    usage = HONEST;
    const { key, hash } = await node.putKey({});
    const status = async () =>
      (await node.post('/v1/chat/completions', chat(), { authorization: `Bearer ${key}` })).status;
    expect(await status()).toBe(200);
    await node.live.putKey(
      node.keyRecord({ keyHash: hash, id: 99, status: 'disabled', revision: 2 }),
    );
    expect(await status()).toBe(401);
    await node.live.putKey(
      node.keyRecord({ keyHash: hash, id: 99, revision: 3, allowedModels: 'other-*' }),
    );
    expect(await status()).toBe(403);
  });
});
