import { beforeAll, describe, expect, test } from '@jest/globals';
import { PASSWORD, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await sharedControlPlane();
}, 60_000);

const statusOf = async (token: string) => (await plane.call('GET', '/auth/me', { token })).status;
const sessionsOf = async (token: string, query: '' | `?${string}` = '') =>
  (await plane.call('GET', `/auth/sessions${query}`, { token })).body.data;

describe('logging out', () => {
  test('ends this session and no other', async () => {
    const { token: first } = await plane.createUser('one-of-two');
    const second = await plane.login('one-of-two', PASSWORD);
    expect(await plane.call('POST', '/auth/logout', { token: first })).toMatchObject({
      status: 200,
      body: { status: 'signed_out' },
    });
    expect([await statusOf(first), await statusOf(second)]).toEqual([401, 200]);
  });

  test('with `all` ends every session of the account', async () => {
    const { token: first } = await plane.createUser('all-of-two');
    const second = await plane.login('all-of-two', PASSWORD);
    await plane.call('POST', '/auth/logout', { token: first, body: { all: true } });
    expect([await statusOf(first), await statusOf(second)]).toEqual([401, 401]);
    expect(await sessionsOf(await plane.login('all-of-two', PASSWORD))).toHaveLength(1);
  });

  test('refuses a body it does not know, and ends nothing', async () => {
    const { token } = await plane.createUser('typo');
    expect(
      (await plane.call('POST', '/auth/logout', { token, body: { every: true } })).status,
    ).toBe(400);
    expect(await statusOf(token)).toBe(200);
  });
});

describe('the list of sessions', () => {
  test('names each with where it began, and says which one asks', async () => {
    const { id, token } = await plane.createUser('lister');
    await plane.call('POST', '/auth/login', {
      body: { username: 'lister', password: PASSWORD },
      headers: { 'user-agent': 'a telephone' },
    });
    const listed = await sessionsOf(token, '?sort=created_at');
    expect(listed).toMatchObject([
      { user_id: id, is_current: true, address: '127.0.0.1' },
      { user_id: id, is_current: false, user_agent: 'a telephone' },
    ]);
    const other = listed.at(1);
    expect((await plane.call('DELETE', `/auth/sessions/${other?.sid}`, { token })).status).toBe(
      204,
    );
    expect((await plane.call('DELETE', `/auth/sessions/${other?.sid}`, { token })).status).toBe(
      404,
    );
    expect(await sessionsOf(token)).toHaveLength(1);
  });

  test("knows nothing of another account's sessions, unless an administrator asks (S24)", async () => {
    const owner = await plane.createUser('owner');
    const stranger = await plane.createUser('stranger');
    const [{ sid }] = await sessionsOf(owner.token);
    expect(
      (await plane.call('DELETE', `/auth/sessions/${sid}`, { token: stranger.token })).status,
    ).toBe(404);
    expect(
      (await plane.call('GET', `/auth/sessions?user_id=${owner.id}`, { token: stranger.token }))
        .status,
    ).toBe(404);
    expect(await statusOf(owner.token)).toBe(200);
    expect(await sessionsOf(plane.adminToken, `?user_id=${owner.id}`)).toMatchObject([{ sid }]);
    await plane.call('DELETE', `/auth/sessions/${sid}`, { token: plane.adminToken });
    expect(await statusOf(owner.token)).toBe(401);
  });

  test('shows none that a freeze or a new password has ended', async () => {
    const { id, token } = await plane.createUser('frozen-list');
    await plane.call('POST', `/users/${id}/freeze`, { token: plane.adminToken });
    expect(await sessionsOf(plane.adminToken, `?user_id=${id}`)).toEqual([]);
    await plane.call('POST', `/users/${id}/unfreeze`, { token: plane.adminToken });
    expect(await statusOf(token)).toBe(401);
    const next = await plane.login('frozen-list', PASSWORD);
    const changed = await plane.call('POST', '/auth/password', {
      token: next,
      body: { current_password: PASSWORD, new_password: `${PASSWORD}!` },
    });
    expect(await sessionsOf(changed.body.token)).toMatchObject([{ is_current: true }]);
  });

  test('holds fifty sessions of an account; the one that was idle longest ends', async () => {
    const { id, token } = await plane.createUser('many');
    await plane.dataSource.query(
      `INSERT INTO sessions (sid, user_id, version, address, user_agent, expires_at, last_seen_at)
       SELECT gen_random_uuid(), $1, u.session_version, '', '', now() + interval '1 hour', now() - interval '1 minute'
       FROM generate_series(1, 60), users u WHERE u.id = $1`,
      [id],
    );
    await plane.login('many', PASSWORD);
    const { body } = await plane.call('GET', '/auth/sessions', { token });
    expect(body.total).toBe(50);
    expect(await statusOf(token)).toBe(200);
  });
});
