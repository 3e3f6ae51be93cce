import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHmac, randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { derivedKey } from '../../config.ts';
import { AccountsService } from '../users/accounts.service.ts';
import {
  PASSWORD,
  startControlPlane,
  type ControlPlane,
} from '../../testing/control-plane-under-test.ts';
import { resetPassword } from './reset-password.ts';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({ TRUSTED_PROXIES: '127.0.0.1' });
}, 60_000);
afterAll(() => plane?.stop());

/** Each test guesses from an address of its own, which the trusted proxy states. */
const from = (address: string) => ({ 'x-forwarded-for': address });

describe('signing in', () => {
  test('answers the token and the user, nothing else', async () => {
    const answer = await plane.call('POST', '/auth/login', {
      body: { username: 'root', password: PASSWORD },
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      token: expect.any(String),
      user: { id: 1, username: 'root', role: 'admin' },
      password_change_needed: false,
    });
  });

  test('answers an unknown user and a wrong password alike, except for the request id', async () => {
    const [unknown, wrong] = await Promise.all(
      ['nobody', 'root'].map((username) =>
        plane.call('POST', '/auth/login', {
          body: { username, password: 'wrong password' },
          headers: from('192.0.2.1'),
        }),
      ),
    );
    expect(unknown).toMatchObject({ status: 401, body: { code: 'invalid_credentials' } });
    expect({ ...unknown?.body, request_id: '' }).toEqual({ ...wrong?.body, request_id: '' });
  });

  test('registration waits for approval, and only who knows the password learns so', async () => {
    const registered = await plane.call('POST', '/auth/register', {
      body: { username: 'paula', password: PASSWORD },
    });
    expect(registered).toMatchObject({
      status: 201,
      body: { username: 'paula', status: 'pending' },
    });
    const { id } = registered.body;
    const login = (password: string) =>
      plane.call('POST', '/auth/login', { body: { username: 'paula', password } });
    expect(await login(PASSWORD)).toMatchObject({ status: 403, body: { code: 'account_pending' } });
    expect(await login('wrong password')).toMatchObject({
      status: 401,
      body: { code: 'invalid_credentials' },
    });
    await plane.call('POST', `/users/${id}/reject`, { token: plane.adminToken });
    expect(await login(PASSWORD)).toMatchObject({
      status: 403,
      body: { code: 'account_rejected' },
    });
    await plane.call('POST', `/users/${id}/approve`, { token: plane.adminToken });
    await plane.call('POST', `/users/${id}/freeze`, { token: plane.adminToken });
    expect(await login(PASSWORD)).toMatchObject({ status: 403, body: { code: 'account_frozen' } });
    await plane.call('DELETE', `/users/${id}`, { token: plane.adminToken });
    expect(await login(PASSWORD)).toMatchObject({
      status: 401,
      body: { code: 'invalid_credentials' },
    });
  });

  test.each([
    ['a short password', { username: 'sam', password: '1234567' }, 'password'],
    ['markup in the name (S41)', { username: '<img onerror=x>', password: PASSWORD }, 'username'],
    ['right-to-left marks (S41)', { username: 'sam\u202e', password: PASSWORD }, 'username'],
    ['a role (S20)', { username: 'sam', password: PASSWORD, role: 'admin' }, 'role'],
    ['a balance (S20)', { username: 'sam', password: PASSWORD, balance: 5 }, 'balance'],
    ['an id (S20)', { username: 'sam', password: PASSWORD, id: 1 }, 'id'],
    ['no password', { username: 'sam' }, 'password'],
    ['NUL', { username: 'sam', password: 'x\0yyyyyyyy' }, 'password'],
  ])('registration refuses %s and names the field', async (_, body, field) => {
    const answer = await plane.call('POST', '/auth/register', { body });
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect(answer.body.errors.map((error: { field: string }) => error.field)).toContain(field);
  });

  test('a name is taken whatever its case (S21)', async () => {
    expect(
      await plane.call('POST', '/auth/register', {
        body: { username: 'ROOT', password: PASSWORD },
      }),
    ).toMatchObject({ status: 409, body: { code: 'username_taken' } });
  });
});

describe('sessions', () => {
  test('end with logout, with a new password and with a freeze (S17, S18)', async () => {
    const { id, token } = await plane.createUser('sonia');
    const me = (candidate: string) => plane.call('GET', '/auth/me', { token: candidate });
    expect(await me(token)).toMatchObject({
      status: 200,
      body: { id, username: 'sonia', role: 'user', status: 'active' },
    });
    await plane.call('POST', '/auth/logout', { token });
    expect((await me(token)).status).toBe(401);

    const second = await plane.login('sonia', PASSWORD);
    expect(
      await plane.call('POST', '/auth/password', {
        token: second,
        body: { current_password: 'wrong password', new_password: 'another password' },
      }),
    ).toMatchObject({ status: 403, body: { code: 'wrong_password' } });
    const changed = await plane.call('POST', '/auth/password', {
      token: second,
      body: { current_password: PASSWORD, new_password: 'another password' },
    });
    expect(changed.status).toBe(200);
    expect((await me(second)).status).toBe(401);
    expect((await me(changed.body.token)).status).toBe(200);

    await plane.call('POST', `/users/${id}/freeze`, { token: plane.adminToken });
    await plane.call('POST', `/users/${id}/unfreeze`, { token: plane.adminToken });
    expect((await me(changed.body.token)).status).toBe(401);
  });

  test('end when the password is reset on the server, and only the new one opens (S19)', async () => {
    const { token } = await plane.createUser('rita');
    const parts = {
      dataSource: plane.app.get(DataSource),
      accounts: plane.app.get(AccountsService, { strict: false }),
    };
    expect(await resetPassword(parts, 'nobody')).toBeUndefined();
    const password = await resetPassword(parts, 'RITA');
    expect((await plane.call('GET', '/auth/me', { token })).status).toBe(401);
    await expect(plane.login('rita', PASSWORD)).rejects.toThrow('401');
    expect(await plane.login('rita', password ?? '')).toEqual(expect.any(String));
  });

  const claims = {
    version: 1,
    sid: randomUUID(),
    sub: '1',
    iss: 'tollgate',
    aud: 'tollgate-admin-api',
    iat: Math.floor(Date.now() / 1000) - 5,
    exp: Math.floor(Date.now() / 1000) + 600,
  };
  const forge = (header: object, payload: object, algorithm = 'sha256') => {
    const parts = [header, payload]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    const key = derivedKey(plane.environment['JWT_SECRET'] ?? '', 'session');
    return `${parts}.${createHmac(algorithm, key).update(parts).digest('base64url')}`;
  };
  const HEAD = { alg: 'HS256', typ: 'JWT' };

  beforeAll(async () => {
    await plane.dataSource.query(
      `INSERT INTO sessions (sid, user_id, version, address, user_agent, expires_at)
       VALUES ($1, 1, 1, '', '', now() + interval '1 hour')`,
      [claims.sid],
    );
  });

  test('a rightly signed token opens', async () => {
    expect((await plane.call('GET', '/auth/me', { token: forge(HEAD, claims) })).status).toBe(200);
  });

  test.each([
    ['alg none', { alg: 'none', typ: 'JWT' }, claims, 'sha256'],
    ['another algorithm', { alg: 'HS512', typ: 'JWT' }, claims, 'sha512'],
    ['RS256 in the header', { alg: 'RS256', typ: 'JWT' }, claims, 'sha256'],
    ['no algorithm', { typ: 'JWT' }, claims, 'sha256'],
    ['a kid', { ...HEAD, kid: '../../dev/null' }, claims, 'sha256'],
    ['another issuer', HEAD, { ...claims, iss: 'other' }, 'sha256'],
    ['another audience', HEAD, { ...claims, aud: 'other' }, 'sha256'],
    ['a list of audiences', HEAD, { ...claims, aud: ['tollgate-admin-api', 'other'] }, 'sha256'],
    ['no expiry', HEAD, { ...claims, exp: undefined }, 'sha256'],
    ['an expiry in text', HEAD, { ...claims, exp: String(claims.exp) }, 'sha256'],
    ['a negative expiry', HEAD, { ...claims, exp: -1 }, 'sha256'],
    ['a null expiry', HEAD, { ...claims, exp: null }, 'sha256'],
    ['a past expiry', HEAD, { ...claims, exp: claims.iat }, 'sha256'],
    ['another session version', HEAD, { ...claims, version: 99 }, 'sha256'],
    ['no session', HEAD, { ...claims, sid: undefined }, 'sha256'],
    ['an unknown session', HEAD, { ...claims, sid: randomUUID() }, 'sha256'],
    ['an unknown account', HEAD, { ...claims, sub: '4711' }, 'sha256'],
    ['a role of its own', HEAD, { ...claims, role: 'admin' }, 'sha256'],
  ])('a token with %s does not (S16)', async (_, header, payload, algorithm) => {
    expect(
      await plane.call('GET', '/auth/me', { token: forge(header, payload, algorithm) }),
    ).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
  });

  test('the console cookie is HttpOnly and SameSite=Strict, keeps the token out of the answer, and changes nothing for another origin', async () => {
    const { id } = await plane.createUser('carla');
    const { host } = new URL(plane.url);
    const login = (origin: string) =>
      plane.call('POST', '/auth/login?session=cookie', {
        body: { username: 'carla', password: PASSWORD },
        headers: { origin },
      });
    expect((await login('https://evil.example')).status).toBe(403);
    const answer = await login(`http://${host}`);
    expect(answer.body).toEqual({
      user: { id, username: 'carla', role: 'user' },
      password_change_needed: false,
    });
    const cookie = answer.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/HttpOnly/);
    expect(cookie).toMatch(/SameSite=Strict/);
    const headers = { cookie: cookie.split(';', 1)[0] ?? '' };
    expect((await plane.call('GET', '/auth/me', { headers })).status).toBe(200);
    expect(await plane.call('POST', '/auth/logout', { headers })).toMatchObject({
      status: 403,
      body: { code: 'origin_not_allowed' },
    });
    expect(
      (
        await plane.call('POST', '/auth/logout', {
          headers: { ...headers, origin: `https://sub.${host}` },
        })
      ).status,
    ).toBe(403);
    expect(
      (
        await plane.call('POST', '/auth/logout', {
          headers: { ...headers, origin: `http://${host}` },
        })
      ).status,
    ).toBe(200);
    expect((await plane.call('GET', '/auth/me', { headers })).status).toBe(401);
  });
});

describe('guessing (S40)', () => {
  const guess = (username: string, address: string, password = 'wrong password') =>
    plane.call('POST', '/auth/login', { body: { username, password }, headers: from(address) });

  test('one address gets ten tries at one name, in parallel too, and the owner can still sign in from another', async () => {
    await plane.createUser('victor');
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => guess('victor', '198.51.100.7')),
    );
    expect(answers.filter((answer) => answer.status === 401)).toHaveLength(10);
    const refused = answers.filter((answer) => answer.status === 429);
    expect(refused).toHaveLength(20);
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused[0]?.body.detail).toBe(
      `Too many attempts; try again in ${refused[0]?.headers.get('retry-after')} seconds`,
    );
    expect((await guess('victor', '198.51.100.7', PASSWORD)).status).toBe(429);
    expect((await guess('victor', '198.51.100.8', PASSWORD)).status).toBe(200);
  });

  test('one address trying many names is stopped', async () => {
    const statuses = await Promise.all(
      Array.from({ length: 110 }, (_, index) =>
        guess(`spray${index}`, '198.51.100.9').then((answer) => answer.status),
      ),
    );
    expect(statuses.filter((status) => status === 401)).toHaveLength(100);
  }, 60_000);

  test('many addresses trying one name do not lock its owner out where he signed in before', async () => {
    await plane.createUser('wanda');
    expect((await guess('wanda', '203.0.113.1', PASSWORD)).status).toBe(200);
    for (let address = 0; address < 11; address += 1)
      await Promise.all(Array.from({ length: 10 }, () => guess('wanda', `198.18.0.${address}`)));
    expect((await guess('wanda', '198.18.1.1')).status).toBe(429);
    expect((await guess('wanda', '203.0.113.1', PASSWORD)).status).toBe(200);
  });

  test('an address behind the trusted one counts, what it claims about others does not', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => guess('xaver', `10.0.0.${index}, 198.51.100.20`)),
    );
    expect(answers.filter((answer) => answer.status === 429)).toHaveLength(2);
  });

  test('addresses of one IPv6 /64 count as one', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => guess('yvonne', `2001:db8::${index + 1}`)),
    );
    expect(answers.filter((answer) => answer.status === 429)).toHaveLength(2);
  });
});
