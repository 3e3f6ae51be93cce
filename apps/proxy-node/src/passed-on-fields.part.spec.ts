import { describe, expect, test } from '@jest/globals';
import { connect } from 'node:net';
import { UPSTREAM_KEY } from './testing/node-under-test.ts';
import { chat, HONEST, node, upstream, upstreamSays } from './security-under-test.ts';

describe('what a node passes on', () => {
  test('S31: of an upstream answer its status, type and body, and no header that sets a cookie, an origin or a place', async () => {
    upstreamSays.usage = HONEST;
    upstreamSays.headers = {
      'set-cookie': 'a=b',
      'access-control-allow-origin': '*',
      location: 'http://evil.example',
      'x-secret': 'y',
      server: 'theirs',
      connection: 'keep-alive, x-secret',
      'www-authenticate': 'Basic',
    };
    const { headers } = await node.post('/v1/chat/completions', chat());
    upstreamSays.headers = {};
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
    upstreamSays.usage = HONEST;
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
    upstreamSays.usage = HONEST;
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
    upstreamSays.usage = HONEST;
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
