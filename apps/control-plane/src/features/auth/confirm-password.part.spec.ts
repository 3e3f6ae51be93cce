import { beforeAll, describe, expect, test } from '@jest/globals';
import { PASSWORD, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';

let plane: ControlPlane;
let sequence = 0;
beforeAll(async () => {
  plane = await sharedControlPlane();
}, 60_000);

const as =
  (token: string) =>
  <Method extends string, Path extends string>(method: Method, path: Path, body?: unknown) =>
    plane.call(method, path, { token, ...(body === undefined ? {} : { body }) });
const unique = (word: string) => `confirm-${word}-${(sequence += 1)}x`;
const make = async (body: object) => (await as(plane.adminToken)('POST', '/users', body)).body;

describe('a session whose password was given more than 15 minutes ago', () => {
  test('makes no administrator and no token until the password is given again', async () => {
    const username = unique('admin');
    const created = await make({ username, role: 'admin' });
    const first = await plane.login(username, created.one_time_password);
    const { token } = (
      await as(first)('POST', '/auth/password', {
        current_password: created.one_time_password,
        new_password: PASSWORD,
      })
    ).body;
    const session = as(token);
    const user = await make({ username: unique('user') });
    const deputy = await make({ username: unique('deputy'), role: 'admin' });
    await as(plane.adminToken)('POST', `/users/${deputy.id}/freeze`);
    const powers = () =>
      [
        ['POST', '/users', { username: unique('made'), role: 'admin' }],
        ['PUT', `/users/${user.id}`, { role: 'admin' }],
        ['POST', `/users/${deputy.id}/unfreeze`, undefined],
        ['POST', `/users/${user.id}/reset-password`, undefined],
        ['POST', '/auth/tokens', { name: 'script', scope: 'read' }],
      ] as const;
    const age = (minutes: number) =>
      plane.dataSource.query(
        'UPDATE sessions SET password_at = now() - make_interval(mins => $2) WHERE user_id = $1',
        [created.id, minutes],
      );
    await age(15);
    for (const [method, path, body] of powers())
      expect(await session(method, path, body)).toMatchObject({
        status: 403,
        body: { code: 'password_needed', detail: expect.stringContaining('confirm-password') },
      });
    // Ordinary calls stay open.
    expect((await session('POST', '/users', { username: unique('made') })).status).toBe(201);
    expect((await session('PUT', `/users/${user.id}`, { rpm_ceiling: 5 })).status).toBe(200);
    const confirm = (password: string) => session('POST', '/auth/confirm-password', { password });
    expect(await confirm('wrong password')).toMatchObject({
      status: 403,
      body: { code: 'wrong_password' },
    });
    expect((await session('POST', '/auth/tokens', powers()[4]?.[2])).status).toBe(403);
    const { confirmed_until: until } = (await confirm(PASSWORD)).body;
    expect(Date.parse(until) - Date.now()).toBeGreaterThan(14 * 60_000);
    for (const [method, path, body] of powers())
      expect((await session(method, path, body)).status).toBeLessThan(300);
    await age(16);
    expect((await session('POST', '/auth/tokens', powers()[4]?.[2])).status).toBe(403);
  });

  test('is not what a token confirms, and guesses are limited', async () => {
    const { token } = (
      await as(plane.adminToken)('POST', '/auth/tokens', { name: 'script', scope: 'admin' })
    ).body;
    expect(
      (await as(token)('POST', '/auth/confirm-password', { password: PASSWORD })).body.code,
    ).toBe('session_needed');
    const { token: session } = await plane.createUser(unique('guesser'));
    const codes = [];
    for (let guess = 0; guess < 11; guess += 1)
      codes.push(
        (await as(session)('POST', '/auth/confirm-password', { password: `guess ${guess}` })).body
          .code,
      );
    expect(codes.at(0)).toBe('wrong_password');
    expect(codes.at(-1)).toBe('rate_limited');
  });
});
