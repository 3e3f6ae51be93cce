import { beforeAll, describe, expect, test } from '@jest/globals';
import { PASSWORD, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';

let plane: ControlPlane;
let sequence = 0;
beforeAll(async () => {
  plane = await sharedControlPlane();
}, 60_000);

type Scope = 'read' | 'write' | 'admin';
const make = async (token: string, scope: Scope = 'write', body: object = {}) =>
  (await plane.call('POST', '/auth/tokens', { token, body: { name: 'ci', scope, ...body } })).body;
const go = async <Method extends string, Path extends string>(
  token: string,
  method: Method,
  path: Path,
  body?: unknown,
) => plane.call(method, path, { token, ...(body === undefined ? {} : { body }) });
const statusOf = async (token: string) => (await go(token, 'GET', '/auth/me')).status;
const user = () => plane.createUser(`script${(sequence += 1)}`);

describe('a token', () => {
  test('is shown once, kept as a hash, and listed with its last use', async () => {
    const { token: session } = await user();
    const made = await make(session);
    expect(made.token).toMatch(/^tgp_[A-Za-z0-9_-]{43}$/);
    expect(made).toMatchObject({ name: 'ci', scope: 'write', last_used_at: null });
    expect(await statusOf(made.token)).toBe(200);
    const { body } = await go(session, 'GET', '/auth/tokens');
    expect(body.data).toMatchObject([
      { id: made.id, token_prefix: made.token.slice(0, 10), last_used_address: '127.0.0.1' },
    ]);
    expect(body.data[0].last_used_at).not.toBeNull();
    const kept = JSON.stringify([
      await plane.dataSource.query('SELECT * FROM access_tokens'),
      await plane.dataSource.query('SELECT * FROM activity_log'),
      await plane.dataSource.query('SELECT * FROM idempotency_keys'),
      body,
    ]);
    expect(kept).not.toContain(made.token.slice(12));
  });

  test('of a repeated call is the same one, without its secret', async () => {
    const { token: session } = await user();
    const headers = { 'idempotency-key': 'once' };
    const call = () =>
      plane.call('POST', '/auth/tokens', {
        token: session,
        body: { name: 'ci', scope: 'read' },
        headers,
      });
    const [first, repeat] = [await call(), await call()];
    expect(repeat).toMatchObject({ status: 201, body: { ...first.body, token: null } });
    expect([first, repeat].map((answer) => answer.headers.get('idempotent-replayed'))).toEqual([
      null,
      'true',
    ]);
    expect((await go(session, 'GET', '/auth/tokens')).body.total).toBe(1);
  });

  test('lasts 90 days by default, never more than 366, and ends when it expires', async () => {
    const { token: session } = await user();
    const days = (count: number) => new Date(Date.now() + count * 86_400_000).toISOString();
    const made = await make(session);
    expect(Date.parse(made.expires_at)).toBeGreaterThan(Date.parse(days(89)));
    for (const expires_at of [days(367), days(-1)])
      expect(await make(session, 'read', { expires_at })).toMatchObject({
        errors: [{ field: 'expires_at' }],
      });
    await plane.dataSource.query(
      "UPDATE access_tokens SET expires_at = now() - interval '1 second' WHERE id = $1",
      [made.id],
    );
    expect(await statusOf(made.token)).toBe(401);
  });

  test('is one of at most fifty, whatever comes at once', async () => {
    const { id, token: session } = await user();
    await plane.dataSource.query(
      `INSERT INTO access_tokens (user_id, name, token_hash, token_prefix, scope, expires_at)
       SELECT $1, 'x', encode(sha256(gen_random_uuid()::text::bytea), 'hex'), 'x', 'read', now() + interval '1 day' FROM generate_series(1, 45)`,
      [id],
    );
    const answers = await Promise.all(
      Array.from({ length: 10 }, () =>
        go(session, 'POST', '/auth/tokens', { name: 'ci', scope: 'read' }),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
    expect(answers.find(({ status }) => status === 409)?.body.code).toBe('limit_reached');
  });
});

describe('the scope', () => {
  test('read looks and changes nothing', async () => {
    const { token: session } = await user();
    const { token } = await make(session, 'read');
    expect((await go(token, 'GET', '/keys')).status).toBe(200);
    expect(await go(token, 'POST', '/keys', { name: 'a' })).toMatchObject({
      status: 403,
      body: { code: 'token_scope' },
    });
    expect((await go(session, 'GET', '/keys')).body.total).toBe(0);
  });

  test('write changes what belongs to its owner', async () => {
    const { id, token: session } = await user();
    const { token } = await make(session, 'write');
    expect(await go(token, 'POST', '/keys', { name: 'a' })).toMatchObject({
      status: 201,
      body: { user_id: id },
    });
    expect((await go(token, 'GET', '/users')).body.code).toBe('forbidden');
  });

  test("write of an administrator neither administers nor touches another account's keys", async () => {
    const victim = await user();
    const { token } = await make(plane.adminToken, 'write');
    expect(await go(token, 'POST', '/models', { name: 'x' })).toMatchObject({
      status: 403,
      body: { code: 'token_scope' },
    });
    expect((await go(token, 'POST', '/keys', { name: 'a', user_id: victim.id })).status).toBe(404);
    expect((await go(token, 'GET', '/users')).status).toBe(200);
  });

  test('admin is for administrators and does all they may', async () => {
    const { token: session } = await user();
    expect(await make(session, 'admin')).toMatchObject({ errors: [{ field: 'scope' }] });
    const { token } = await make(plane.adminToken, 'admin');
    expect((await go(token, 'POST', '/models', { name: 'by-script' })).status).toBe(201);
  });

  test('of no token reaches passwords, tokens or sessions', async () => {
    const { token } = await make(plane.adminToken, 'admin');
    const [{ sid }] = (await go(token, 'GET', '/auth/sessions')).body.data;
    for (const [method, path, body] of [
      ['POST', '/auth/password', { current_password: PASSWORD, new_password: 'stolen password' }],
      ['POST', '/auth/tokens', { name: 'another', scope: 'admin' }],
      ['DELETE', '/auth/tokens/1', undefined],
      ['DELETE', `/auth/sessions/${sid}`, undefined],
      ['POST', '/auth/logout', { all: true }],
    ] as const)
      expect(await go(token, method, path, body)).toMatchObject({
        status: 403,
        body: { code: 'session_needed' },
      });
    expect(await statusOf(plane.adminToken)).toBe(200);
  });
});

describe('the end of a token', () => {
  test('is not the end of the session that made it', async () => {
    const { token: session } = await user();
    const { token } = await make(session);
    await go(session, 'POST', '/auth/logout', { all: true });
    expect([await statusOf(session), await statusOf(token)]).toEqual([401, 200]);
  });

  test('is its revocation, by its owner or an administrator; to others it does not exist', async () => {
    const owner = await user();
    const stranger = await user();
    const [first, second] = [await make(owner.token), await make(owner.token)];
    expect((await go(stranger.token, 'DELETE', `/auth/tokens/${first.id}`)).status).toBe(404);
    expect((await go(owner.token, 'DELETE', `/auth/tokens/${first.id}`)).status).toBe(204);
    expect((await go(owner.token, 'DELETE', `/auth/tokens/${first.id}`)).status).toBe(404);
    expect((await go(plane.adminToken, 'DELETE', `/auth/tokens/${second.id}`)).status).toBe(204);
    expect([await statusOf(first.token), await statusOf(second.token)]).toEqual([401, 401]);
  });

  test.each([
    ['a freeze', 'POST', '/freeze', 'POST', '/unfreeze'],
    ['a deletion', 'DELETE', '', undefined, undefined],
  ])('is %s, and it does not come back', async (_, method, path, undo, undoPath) => {
    const { id, token: session } = await user();
    const { token } = await make(session);
    await go(plane.adminToken, method, `/users/${id}${path}`);
    expect(await statusOf(token)).toBe(401);
    if (undo === undefined) return;
    await go(plane.adminToken, undo, `/users/${id}${undoPath}`);
    expect(await statusOf(token)).toBe(401);
  });

  test('is the promotion of its owner, and their demotion', async () => {
    const { id, token: session } = await user();
    const before = await make(session, 'read');
    await go(plane.adminToken, 'PUT', `/users/${id}`, { role: 'admin' });
    expect([await statusOf(before.token), await statusOf(session)]).toEqual([401, 401]);
    const made = await make(await plane.login(`script${sequence}`, PASSWORD), 'admin');
    expect((await go(made.token, 'GET', '/users')).status).toBe(200);
    await go(plane.adminToken, 'PUT', `/users/${id}`, { role: 'user' });
    expect(await statusOf(made.token)).toBe(401);
  });
});
