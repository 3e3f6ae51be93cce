import { describe, expect, test } from '@jest/globals';
import { startServices } from '@tollgate/harness';
import { createApp } from '../../create-app.ts';
import { loadConfig } from '../../config.ts';
import { createPino } from '../../platform/logging/logger.ts';
import { ADMIN, environmentFor, PASSWORD } from '../../testing/control-plane-under-test.ts';
import { asAdmin, plane, register } from './users-under-test.ts';

describe('administrators', () => {
  test('administrators cannot freeze, delete or demote their own account, and the last one cannot be removed', async () => {
    const self = (await plane.call('GET', '/auth/me', { token: plane.adminToken })).body.id;
    const attempts = () =>
      Promise.all([
        asAdmin('POST', `/users/${self}/freeze`),
        asAdmin('DELETE', `/users/${self}`),
        asAdmin('PUT', `/users/${self}`, { role: 'user' }),
      ]);
    for (const answer of await attempts())
      expect(answer).toMatchObject({ status: 409, body: { code: 'last_administrator' } });
    const { id } = await plane.createUser('deputy');
    await asAdmin('PUT', `/users/${id}`, { role: 'admin' });
    for (const answer of await attempts())
      expect(answer).toMatchObject({ status: 409, body: { code: 'cannot_change_self' } });
    expect(await asAdmin('PUT', `/users/${id}`, { role: 'user' })).toMatchObject({
      status: 200,
      body: { role: 'user' },
    });
  });

  test('two who demote each other at the same moment leave one', async () => {
    const [one, other] = await Promise.all([
      plane.createUser('castor'),
      plane.createUser('pollux'),
    ]);
    for (const { id } of [one, other]) await asAdmin('PUT', `/users/${id}`, { role: 'admin' });
    const demote = (token: string, whom: { id: number }) =>
      plane.call('PUT', `/users/${whom.id}`, { token, body: { role: 'user' } });
    const castor = await plane.login('castor', PASSWORD);
    const pollux = await plane.login('pollux', PASSWORD);
    const answers = await Promise.all([demote(castor, other), demote(pollux, one)]);
    expect(answers.map((answer) => answer.status).sort((a, b) => a - b)).toEqual([200, 403]);
  });

  test('a demoted administrator loses the role with the next request (S17)', async () => {
    const { id } = await plane.createUser('brief');
    await asAdmin('PUT', `/users/${id}`, { role: 'admin' });
    const token = await plane.login('brief', PASSWORD);
    expect((await plane.call('GET', '/users', { token })).status).toBe(200);
    await asAdmin('PUT', `/users/${id}`, { role: 'user' });
    expect((await plane.call('GET', '/users', { token })).status).toBe(403);
  });

  test('a promotion raises no session that exists, nor a token (S59)', async () => {
    const { id, token } = await plane.createUser('raised');
    const made = await plane.call('POST', '/auth/tokens', {
      token,
      body: { name: 'before', scope: 'read' },
    });
    await asAdmin('PUT', `/users/${id}`, { role: 'admin' });
    for (const old of [token, made.body.token])
      expect((await plane.call('GET', '/users', { token: old })).status).toBe(401);
  });

  test('a name that looks like an existing one is refused, however it is written and at the same moment (S59)', async () => {
    const create = (username: string) => asAdmin('POST', '/users', { username });
    expect((await create('mAdeline1')).status).toBe(201);
    // The names have Cyrillic а, е and А; Greek ο is refused likewise; l for 1; rn for m; letters that NFKC folds.
    for (const username of [
      'm\u0430deline1',
      'mad\u0435line1',
      'm\u0410DELINE1'.toUpperCase(),
      'madelinel',
      'rnadeline1',
      '\uff4dadeline1',
      'r\u03bfot',
      'ro\u043et',
    ])
      expect(await create(username)).toMatchObject({
        status: 409,
        body: { code: 'username_taken' },
      });
    const twins = await Promise.all(['p\u0430ypal', 'paypal', 'paypa1'].map(create));
    expect(twins.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409]);
    expect((await create('madeleine')).status).toBe(201);
  });

  test('a digit one in place of an i, and signs around an existing name, are refused; ordinary names are not', async () => {
    const create = (username: string) => asAdmin('POST', '/users', { username });
    expect((await create('viktoria')).status).toBe(201);
    for (const username of [
      'v1ktoria',
      'V1KTORIA',
      'v1ktor1a',
      'vikt0ria',
      'viktoria.',
      '_viktoria',
      '-v1ktoria@',
    ])
      expect([username, (await create(username)).status]).toEqual([username, 409]);
    const ordinary = [
      ...['reader1', 'reader2', 'reader10', 'reader11', 'kai', 'kal', 'ali', 'all'],
      // Letters with marks are other letters to UTS #39, and Jose is not José.
      ...['john.doe', 'johndoe', 'jose', 'josé'],
    ];
    for (const username of ordinary)
      expect([username, (await create(username)).status]).toEqual([username, 201]);
  });

  test.each([
    { role: 'owner' },
    { status: 'active' },
    {},
    { role: 'admin', username: 'x' },
    { role: 'admin', id: 1 },
  ])('an update %j is refused (S20)', async (body) => {
    const { id } = await register();
    expect((await asAdmin('PUT', `/users/${id}`, body)).status).toBe(400);
    expect((await asAdmin('GET', `/users/${id}`)).body).toMatchObject({
      role: 'user',
      status: 'pending',
    });
  });

  test('two replicas that start together on an empty database make one first administrator (S44)', async () => {
    // A new installation refuses a Redis that another one filled.
    const empty = await startServices({ postgres: false });
    const config = loadConfig({
      ...environmentFor({
        // An installation without an owner of its own has this one role.
        databaseUrl: plane.services.urlsOf(await plane.services.createDatabase()).owner,
        redisUrl: empty.redisUrl,
      }),
      DATABASE_POOL_MAX: '5',
    });
    const apps = await Promise.all([1, 2, 3].map(() => createApp(config, createPino('silent'))));
    try {
      await Promise.all(apps.map((app) => app.init()));
      const { DataSource } = await import('typeorm');
      expect(
        await apps[0]?.get(DataSource).query('SELECT username, role, status FROM users'),
      ).toEqual([{ username: ADMIN, role: 'admin', status: 'active' }]);
    } finally {
      await Promise.all(apps.map((app) => app.close()));
      await empty.stop();
    }
  });
});
