import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  PASSWORD,
  startControlPlane,
  type ControlPlane,
} from '../../testing/control-plane-under-test.ts';

let plane: ControlPlane;
let sequence = 0;
beforeAll(async () => {
  plane = await startControlPlane({}, { isHashingFull: true });
}, 60_000);
afterAll(() => plane?.stop());

const go = <Method extends string, Path extends string>(
  token: string,
  method: Method,
  path: Path,
  body?: unknown,
  headers = {},
) => plane.call(method, path, { token, headers, ...(body === undefined ? {} : { body }) });
const create = (body: object = {}, headers = {}) =>
  go(plane.adminToken, 'POST', '/users', { username: `made${(sequence += 1)}`, ...body }, headers);
const signIn = (username: string, password: string) =>
  plane.call('POST', '/auth/login', { body: { username, password } });

describe('an account made by an administrator', () => {
  test('is active; its one-time password opens nothing but the way to one of its own', async () => {
    const { status, body, headers } = await create({ role: 'admin' });
    expect({ status, body }).toMatchObject({
      status: 201,
      body: { status: 'active', role: 'admin', is_demo: false },
    });
    expect(headers.get('location')).toBe(`/admin-api/users/${body.id}`);
    const { token, password_change_needed } = (await signIn(body.username, body.one_time_password))
      .body;
    expect(password_change_needed).toBe(true);
    for (const [method, path, sent] of [
      ['GET', '/keys', undefined],
      ['GET', '/users', undefined],
      ['POST', '/keys', { name: 'k' }],
      ['POST', '/auth/tokens', { name: 't', scope: 'read' }],
      ['GET', '/events', undefined],
    ] as const)
      expect((await go(token, method, path, sent)).body.code).toBe('password_change_needed');
    expect((await go(token, 'GET', '/auth/me')).body.password_change_needed).toBe(true);
    const changed = await go(token, 'POST', '/auth/password', {
      current_password: body.one_time_password,
      new_password: PASSWORD,
    });
    expect(changed.body.password_change_needed).toBe(false);
    expect((await go(changed.body.token, 'GET', '/users')).status).toBe(200);
    expect((await signIn(body.username, body.one_time_password)).status).toBe(401);
  });

  test('of a repeated call is the same one, without its password', async () => {
    const [username, headers] = [`repeated${(sequence += 1)}`, { 'idempotency-key': 'make' }];
    const first = await create({ username }, headers);
    const repeat = await create({ username }, headers);
    expect(repeat.body).toEqual({ ...first.body, one_time_password: null });
    expect(repeat.headers.get('idempotent-replayed')).toBe('true');
    const kept = JSON.stringify([
      await plane.dataSource.query('SELECT * FROM idempotency_keys'),
      await plane.dataSource.query('SELECT * FROM activity_log'),
      await plane.dataSource.query('SELECT * FROM users'),
    ]);
    expect(kept).not.toContain(first.body.one_time_password);
  });

  test('has a password that is good for a week', async () => {
    const { body } = await create();
    await plane.dataSource.query(
      "UPDATE users SET one_time_until = now() - interval '1 second' WHERE id = $1",
      [body.id],
    );
    expect((await signIn(body.username, body.one_time_password)).body.code).toBe(
      'invalid_credentials',
    );
  });

  test.each([{ username: '<b>' }, { username: 'root' }, { role: 'god' }, { password: PASSWORD }])(
    'is not made from %j',
    async (body) => expect([400, 409]).toContain((await create(body)).status),
  );
});

describe('a password reset by an administrator', () => {
  test('ends sessions and access tokens, and the old password', async () => {
    const { id, token } = await plane.createUser('forgetful');
    const made = (await go(token, 'POST', '/auth/tokens', { name: 't', scope: 'read' })).body;
    const { body } = await go(plane.adminToken, 'POST', `/users/${id}/reset-password`);
    expect((await signIn('forgetful', PASSWORD)).status).toBe(401);
    for (const old of [token, made.token])
      expect((await go(old, 'GET', '/auth/me')).status).toBe(401);
    expect((await signIn('forgetful', body.one_time_password)).body.password_change_needed).toBe(
      true,
    );
  });

  test('is for others, and for sessions: no access token does it', async () => {
    const { id } = await plane.createUser('target');
    expect((await go(plane.adminToken, 'POST', '/users/1/reset-password')).body.code).toBe(
      'cannot_change_self',
    );
    const made = (await go(plane.adminToken, 'POST', '/auth/tokens', { name: 't', scope: 'admin' }))
      .body;
    expect((await go(made.token, 'POST', `/users/${id}/reset-password`)).body.code).toBe(
      'session_needed',
    );
    expect((await go(plane.adminToken, 'POST', '/users/999999/reset-password')).status).toBe(404);
  });
});

describe('two hundred sign-ins at once', () => {
  test('are answered or put off, and the rest of the interface keeps its pace', async () => {
    const { token } = await plane.createUser('bystander');
    const flood = Array.from({ length: 200 }, (_, index) =>
      plane.call('POST', '/auth/login', {
        body: { username: `flood${index}`, password: 'wrong password' },
        headers: { 'x-forwarded-for': `10.1.${index}.1` },
      }),
    );
    const durations: number[] = [];
    for (let request = 0; request < 40; request += 1) {
      const startedAt = performance.now();
      expect((await go(token, 'GET', '/keys')).status).toBe(200);
      durations.push(performance.now() - startedAt);
    }
    const statuses = new Set((await Promise.all(flood)).map(({ status }) => status));
    expect([...statuses].every((status) => status === 401 || status === 429)).toBe(true);
    // With the shared thread pool taken, each would wait for seconds.
    expect(durations.toSorted((a, b) => a - b)[38]).toBeLessThan(1_000);
  }, 60_000);
});
