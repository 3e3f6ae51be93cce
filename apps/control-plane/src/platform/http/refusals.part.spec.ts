import { beforeAll, describe, expect, test } from '@jest/globals';
import { connect } from 'node:net';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await sharedControlPlane();
}, 60_000);

describe('refusals', () => {
  test.each([
    ['an unknown path', 'GET', '/nowhere', {}, 404, 'not_found'],
    ['a path outside the prefix', 'GET', '/../nowhere', {}, 404, 'not_found'],
    ['broken JSON', 'POST', '/auth/login', { rawBody: '{"username":' }, 400, 'malformed_json'],
    ['JSON that is no object', 'POST', '/auth/login', { rawBody: '[]' }, 400, 'invalid_request'],
    ['no body', 'POST', '/auth/login', {}, 400, 'invalid_request'],
    [
      'a form',
      'POST',
      '/auth/login',
      {
        rawBody: 'username=root',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      },
      415,
      'unsupported_media_type',
    ],
    [
      'a body beyond the limit',
      'POST',
      '/auth/login',
      { rawBody: JSON.stringify({ username: 'x'.repeat(300_000) }) },
      413,
      'body_too_large',
    ],
    [
      'a compressed body (S36)',
      'POST',
      '/auth/login',
      { rawBody: 'x', headers: { 'content-encoding': 'gzip' } },
      415,
      'unsupported_media_type',
    ],
    ['an undecodable path', 'GET', '/users/%E0%A4%A', {}, 400, 'invalid_request'],
  ])('the refusal of %s is problem+json', async (_, method, path, options, status, code) => {
    const answer = await plane.call(method, path, options);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(answer.body).toMatchObject({
      type: `urn:tollgate:problem:${code}`,
      title: expect.any(String),
      status,
      detail: expect.any(String),
      code,
      errors: expect.any(Array),
      request_id: answer.headers.get('x-request-id'),
    });
  });

  test.each(['/chat/completions', '/messages', '/responses', '/embeddings', '/models'])(
    'a client whose base URL lacks /v1 (%s) learns it',
    async (path) => {
      const answer = await fetch(`${plane.url}${path}`, { method: 'POST' });
      expect(answer.status).toBe(404);
      expect(await answer.json()).toMatchObject({
        detail: expect.stringContaining(`/v1${path}`),
      });
    },
  );

  test('an internal error discloses no detail (S8)', async () => {
    await plane.administrator.query('ALTER TABLE users RENAME COLUMN username TO hidden');
    try {
      const answer = await plane.call('POST', '/auth/login', {
        body: { username: 'root', password: 'secret-word' },
      });
      expect(answer.body).toMatchObject({
        status: 500,
        code: 'internal_error',
        detail: 'The server failed to handle the request',
      });
      expect(JSON.stringify(answer.body)).not.toMatch(/column|select|username|secret-word/i);
    } finally {
      await plane.administrator.query('ALTER TABLE users RENAME COLUMN hidden TO username');
    }
  });

  test('a request id from outside is not taken over', async () => {
    const answer = await plane.call('GET', '/auth/me', { headers: { 'x-request-id': 'forged' } });
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  });

  test('an answer may not be cached, framed or sniffed', async () => {
    const { headers } = await plane.call('GET', '/auth/me');
    expect(
      Object.fromEntries(
        [
          'cache-control',
          'x-frame-options',
          'x-content-type-options',
          'access-control-allow-origin',
          'x-powered-by',
        ].map((name) => [name, headers.get(name)]),
      ),
    ).toEqual({
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'access-control-allow-origin': null,
      'x-powered-by': null,
    });
  });

  test('__proto__ in a body changes no prototype (S34)', async () => {
    await plane.call('POST', '/auth/login', {
      rawBody:
        '{"username":"x","password":"y","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
    });
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  test.each([
    [
      'both lengths (S30)',
      'POST /admin-api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'HTTP/1.0 and Transfer-Encoding',
      'POST /admin-api/auth/login HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'a chunk extension',
      'POST /admin-api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\n\r\n',
    ],
    [
      'two lengths (S30)',
      'POST /admin-api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nxxxxx',
    ],
    [
      'a folded header (S30)',
      'GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: b\r\n c\r\nBad Header: 1\r\n\r\n',
    ],
  ])('a request with %s is 400 and the connection ends', async (_, text) => {
    const { hostname, port } = new URL(plane.url);
    const socket = connect(Number(port), hostname);
    socket.end(text);
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toMatch(/^HTTP\/1\.1 400/);
  });
});
