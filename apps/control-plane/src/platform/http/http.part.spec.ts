import { beforeAll, describe, expect, test } from '@jest/globals';
import { send, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { csvLine } from './csv.ts';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await sharedControlPlane();
}, 60_000);

describe('a known path with another method', () => {
  test.each([
    ['PATCH', '/users/1', 'GET, HEAD, DELETE, PUT'],
    ['GET', '/users/1/freeze', 'POST'],
    ['DELETE', '/usage/logs', 'GET, HEAD'],
    ['POST', '/wallet', 'GET, HEAD'],
    ['PUT', '/models/market', 'GET, HEAD'],
    ['GET', '/models/subscribe', 'POST'],
    ['OPTIONS', '/proxy-nodes/sync-all', 'POST'],
    ['DELETE', '/keys/', 'GET, HEAD, POST'],
    ['GET', '/Users', null],
    ['GET', '/../Admin-API/users', null],
    ['GET', '/proxy-nodes/sync-all/x', null],
    ['POST', '/admin-api/users', null],
  ])('%s %s: Allow is %s', async (method, path, allow) => {
    const answer = await plane.call(method, path, { token: plane.adminToken });
    expect({
      status: answer.status,
      code: answer.body.code,
      allow: answer.headers.get('allow'),
    }).toEqual({
      status: allow ? 405 : 404,
      code: allow ? 'method_not_allowed' : 'not_found',
      allow,
    });
  });
});

describe('an id that a body or a query names', () => {
  test.each([
    ['POST', '/routing', { model_id: 99_999, upstream_id: 1 }, 'model_id'],
    ['POST', '/models/pricing', { model_id: 99_999, price_per_million: '1' }, 'model_id'],
    ['POST', '/models/subscribe', { model_id: 99_999, tokens: 1 }, 'model_id'],
    ['POST', '/models/unsubscribe', { model_id: 99_999 }, 'model_id'],
    ['POST', '/models/renew', { model_id: 99_999, tokens: 1 }, 'model_id'],
    [
      'POST',
      '/models/set-auto-recharge',
      { model_id: 9, threshold: null, amount: null },
      'model_id',
    ],
    ['POST', '/keys', { name: 'x', user_id: 99_999 }, 'user_id'],
    ['POST', '/wallet/adjust', { user_id: 99_999, amount: '1', note: 'x' }, 'user_id'],
    ['POST', '/playground/key', { key_id: 99_999 }, 'key_id'],
    ['POST', '/proxy/stop?node_id=99999', undefined, 'node_id'],
    ['GET', '/proxy/status?node_id=99999', undefined, 'node_id'],
    ['GET', '/wallet?user_id=99999', undefined, 'user_id'],
    ['GET', '/previews/refund?model_id=99999', undefined, 'model_id'],
    ['GET', '/previews/charge?model_id=99999&input_tokens=1', undefined, 'model_id'],
    ['GET', '/routing/simulation?model_id=99999', undefined, 'model_id'],
  ])('%s %s is 404 and names the field when it is unknown', async (method, path, body, field) => {
    const answer = await plane.call(method, path, {
      token: plane.adminToken,
      ...(body && { body }),
    });
    expect(answer.status).toBe(404);
    expect(answer.body.errors).toMatchObject([{ field, message: expect.stringMatching(/./) }]);
  });

  test('a table that no node has is refused', async () => {
    const { status, body } = await plane.call('GET', '/proxy/stats/dict?table=passwords', {
      token: plane.adminToken,
    });
    expect({ status, errors: body.errors }).toMatchObject({
      status: 400,
      errors: [{ field: 'table' }],
    });
  });
});

describe('a toggle', () => {
  test('flips without a body, obeys `enabled`, and refuses a body that does not say it', async () => {
    const token = plane.adminToken;
    const { body: node } = await plane.call('POST', '/proxy-nodes', {
      token,
      body: { name: 'flipped' },
    });
    const toggle = async (options: object) =>
      (await plane.call('POST', `/proxy-nodes/${node.id}/toggle`, { token, ...options })).body;
    expect(await toggle({})).toMatchObject({ enabled: false });
    for (const body of [{}, { enabled: null }])
      expect(await toggle({ body })).toMatchObject({
        code: 'invalid_request',
        errors: [{ field: 'enabled' }],
      });
    expect(await toggle({ body: { enabled: false } })).toMatchObject({ enabled: false });
    expect(await toggle({})).toMatchObject({ enabled: true });
  });
});

describe('health', () => {
  test('liveness and readiness are answered outside the prefix', async () => {
    expect(await send(`${plane.url}/healthz`, 'GET', {})).toMatchObject({
      status: 200,
      body: { status: 'ok' },
    });
    expect(await send(`${plane.url}/readyz`, 'GET', {})).toMatchObject({
      status: 200,
      body: { status: 'ready' },
    });
  });
});

describe('CSV cells (S42, RFC 4180)', () => {
  test.each([
    ['=1+1', `"'=1+1"`],
    ['+1-1', `"'+1-1"`],
    ['-x', `"'-x"`],
    ['@a', `"'@a"`],
    ['\tx', `"'\tx"`],
    ['\r=x', '\ufffd=x'],
    ['\u001b[31mred\u009b2J', '\ufffd[31mred\ufffd2J'],
    ['a\u202eb', 'a\ufffdb'],
    ['\n=1+1', `"'\n=1+1"`],
    ['＝1+1', `"'＝1+1"`],
    ['＠SUM(1)', `"'＠SUM(1)"`],
    ['-12.5', '-12.5'],
    ['a,b', '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ['two\nlines', '"two\nlines"'],
    ['plain', 'plain'],
    [null, ''],
    [5, '5'],
    [-5, '-5'],
    [true, 'true'],
  ])('%j is written as %j', (cell, text) => {
    expect(csvLine([cell])).toBe(`${text}\r\n`);
  });
});

describe('a name or note that people write (S42)', () => {
  const TERMINAL = 'a\u001b[31mb';
  const LINES = 'a\r\nb';
  const TURNED = 'a\u202eb';
  const C1 = 'a\u009b2Jb';
  const NAMES: [string, string, string, object][] = [
    ['POST', '/keys', 'name', {}],
    ['POST', '/auth/tokens', 'name', { scope: 'read' }],
    [
      'POST',
      '/upstreams',
      'name',
      { protocol: 'openai', base_url: 'https://models.example.com/v1', api_key: 'k' },
    ],
    ['POST', '/models', 'display_name', { name: 'seen', kind: 'chat' }],
    ['POST', '/models', 'owned_by', { name: 'seen', kind: 'chat' }],
    ['POST', '/routing', 'upstream_model', { model_id: 1, upstream_id: 1 }],
  ];
  const NOTES: [string, string, string, object][] = [
    ['POST', '/models', 'description', { name: 'seen', kind: 'chat' }],
    ['POST', '/wallet/admin-recharge', 'note', { user_id: 99_999, amount: '1' }],
    ['POST', '/wallet/adjust', 'note', { user_id: 99_999, amount: '1' }],
    ['POST', '/admin/dead-letters/1/dismiss', 'note', {}],
  ];
  const isRefused = async (method: string, path: string, body: object, field: string) => {
    const answer = await plane.call(method, path, { token: plane.adminToken, body });
    const errors: { field: string; message: string }[] = answer.body.errors ?? [];
    return errors.some(
      (error) => error.field === field && error.message.includes('control characters'),
    );
  };

  test.each([...NAMES, ...NOTES])(
    '%s %s refuses controls of a terminal and marks that turn text around in %s',
    async (method, path, field, rest) => {
      for (const text of [TERMINAL, LINES, TURNED, C1])
        expect(await isRefused(method, path, { ...rest, [field]: text }, field)).toBe(true);
    },
  );

  test.each(NAMES)('%s %s refuses tabs and lines in %s', async (method, path, field, rest) => {
    for (const text of ['a\tb', 'a\nb', 'a\n'])
      expect(await isRefused(method, path, { ...rest, [field]: text }, field)).toBe(true);
  });

  test.each(NOTES)('%s %s takes tabs and lines in %s', async (method, path, field, rest) => {
    expect(await isRefused(method, path, { ...rest, [field]: 'a\tb\nc' }, field)).toBe(false);
  });

  test('names of every script are shown, and stored ones with marks that a request may not have', async () => {
    const made = await plane.call('POST', '/keys', {
      token: plane.adminToken,
      body: { name: 'né 中 العربية 👩\u200d💻' },
    });
    expect(made.status).toBe(201);
    await plane.dataSource.query('UPDATE api_keys SET name = $2 WHERE id = $1', [
      made.body.id,
      TERMINAL,
    ]);
    const path = `/keys/${made.body.id}`;
    const { body } = await plane.call('GET', path, { token: plane.adminToken });
    expect(body).toMatchObject({ name: TERMINAL });
    const changed = await plane.call('PUT', path, { token: plane.adminToken, body: { rpm: 5 } });
    expect(changed.body).toMatchObject({ name: TERMINAL, rpm: 5 });
  });
});
