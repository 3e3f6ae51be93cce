import { beforeAll, describe, expect, test } from '@jest/globals';
import { LiveRecords, MeteringStore } from '@tollgate/keyspace';
import { parseApiKey } from '@tollgate/contracts';
import { createApp } from '../../create-app.ts';
import { loadConfig } from '../../config.ts';
import { createPino } from '../../platform/logging/logger.ts';
import {
  ADMIN,
  PASSWORD,
  environmentFor,
  type ControlPlane,
} from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { ledgerOf } from '../../testing/ledger-under-test.ts';
import { eventually } from '../../testing/eventually.ts';
import { statusAfter, USER_STATUSES, type UserMove } from './user-transitions.ts';

let plane: ControlPlane;
let sequence = 0;
beforeAll(async () => {
  plane = await sharedControlPlane();
}, 60_000);

const asAdmin = (method: string, path: string, body?: unknown) =>
  plane.call(method, path, { token: plane.adminToken, ...(body === undefined ? {} : { body }) });
const register = async () =>
  (
    await plane.call('POST', '/auth/register', {
      body: { username: `user${(sequence += 1)}`, password: PASSWORD },
    })
  ).body as { id: number; username: string };

/** Moves that bring a fresh account into a status. */
const WAYS: Record<'pending' | 'active' | 'rejected' | 'frozen', UserMove[]> = {
  pending: [],
  active: ['approve'],
  rejected: ['reject'],
  frozen: ['approve', 'freeze'],
};
const MOVES: UserMove[] = ['approve', 'reject', 'freeze', 'unfreeze'];

describe('the life of an account', () => {
  test.each(
    Object.entries(WAYS).flatMap(([status, way]) =>
      MOVES.map((move) => ({ status: status as keyof typeof WAYS, way, move })),
    ),
  )('$status and then $move', async ({ status, way, move }) => {
    const { id } = await register();
    for (const step of way)
      expect((await asAdmin('POST', `/users/${id}/${step}`)).status).toBe(200);
    const expected = statusAfter(move, status);
    const answer = await asAdmin('POST', `/users/${id}/${move}`);
    if (expected) expect(answer).toMatchObject({ status: 200, body: { id, status: expected } });
    else expect(answer).toMatchObject({ status: 409, body: { code: 'invalid_transition' } });
    expect((await asAdmin('GET', `/users/${id}`)).body.status).toBe(expected ?? status);
  });

  test('every status is reachable and deletion ends all of them', () => {
    expect(
      USER_STATUSES.filter(
        (status) => status !== 'deleted' && statusAfter('delete', status) !== 'deleted',
      ),
    ).toEqual([]);
    expect(statusAfter('delete', 'deleted')).toBeUndefined();
  });

  test('a deleted account is unknown and its name is free again', async () => {
    const { id, username } = await register();
    expect((await asAdmin('DELETE', `/users/${id}`)).status).toBe(204);
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/approve'],
      ['POST', '/freeze'],
    ] as const)
      expect((await asAdmin(method, `/users/${id}${path}`)).status).toBe(404);
    expect(
      (await plane.call('POST', '/auth/register', { body: { username, password: PASSWORD } }))
        .status,
    ).toBe(201);
  });

  test('the refusal of an unknown id names its kind', async () => {
    for (const [path, kind] of [
      ['users', 'account'],
      ['keys', 'key'],
      ['models', 'model'],
      ['upstreams', 'upstream'],
      ['routing', 'route'],
      ['proxy-nodes', 'node'],
    ] as const) {
      expect((await asAdmin('GET', `/${path}/999999`)).body).toMatchObject({
        code: 'not_found',
        detail: `There is no ${kind} 999999`,
      });
    }
    expect((await asAdmin('GET', '/wallet?user_id=999999')).body.detail).toBe(
      'There is no account 999999',
    );
  });

  test.each(['0', '-1', 'abc', '99999999999', '1e3', '1.5'])(
    'an id like %s is unknown',
    async (id) => {
      expect(await asAdmin('GET', `/users/${id}`)).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      });
    },
  );

  test('money keeps an account from being deleted until it is forfeited, and the ledger says so', async () => {
    const { id } = await register();
    await asAdmin('POST', `/users/${id}/approve`);
    await asAdmin('POST', '/wallet/admin-recharge', { user_id: id, amount: '2.5' });
    expect(await asAdmin('DELETE', `/users/${id}`)).toMatchObject({
      status: 409,
      body: {
        code: 'account_not_empty',
        detail: 'The account holds 2.5 USD; add ?forfeit=true to give it up',
      },
    });
    expect((await asAdmin('DELETE', `/users/${id}?forfeit=true`)).status).toBe(204);
    const entries = await plane.dataSource.query(
      `SELECT e.amount, e.balance_after FROM ledger_entries e JOIN ledger_transactions t ON t.id = e.transaction_id JOIN ledger_accounts a ON a.id = e.ledger_account_id
       WHERE t.kind = 'forfeit' AND a.user_id = $1`,
      [id],
    );
    expect(entries).toEqual([{ amount: '-2500000', balance_after: '0' }]);
  });
});

describe('what hangs on an account', () => {
  test('the very next admission sees a freeze, an unfreeze and a deletion (S17)', async () => {
    const ledger = ledgerOf(plane);
    await ledger.initialiseShards();
    const user = await plane.createUser('live');
    const { key } = (
      await plane.call('POST', '/keys', { token: user.token, body: { name: 'one' } })
    ).body;
    const { hash = '', accountId = 0 } = parseApiKey(key) ?? {};
    const access = () =>
      plane.app.get(MeteringStore).access({ accountId, keyHash: hash, addressHex: '' });
    expect(await access()).toMatchObject({ kind: 'allowed' });
    await asAdmin('POST', `/users/${user.id}/freeze`);
    expect(await access()).toMatchObject({ kind: 'account_not_active', status: 'frozen' });
    await asAdmin('POST', `/users/${user.id}/unfreeze`);
    expect(await access()).toMatchObject({ kind: 'allowed' });
    await asAdmin('DELETE', `/users/${user.id}`);
    expect(await access()).not.toMatchObject({ kind: 'allowed' });
  });

  test('deleting it deletes its keys, in the list as in Redis', async () => {
    const ledger = ledgerOf(plane);
    await ledger.initialiseShards();
    const [gone, stays] = [await plane.createUser('gone'), await plane.createUser('stays')];
    const keys = [];
    for (const owner of [gone, gone, stays])
      keys.push(
        (await plane.call('POST', '/keys', { token: owner.token, body: { name: 'one' } })).body,
      );
    expect((await asAdmin('DELETE', `/users/${gone.id}`)).status).toBe(204);
    const listed = new Set(
      (await asAdmin('GET', '/keys?page_size=100')).body.data.map((key: { id: number }) => key.id),
    );
    expect(keys.map((key) => listed.has(key.id))).toEqual([false, false, true]);
    const live = await Promise.all(
      keys.map(({ user_id: owner, key }) =>
        plane.app.get(LiveRecords).getKey(owner, parseApiKey(key)?.hash ?? ''),
      ),
    );
    expect(live.map((record) => record?.status)).toEqual(['deleted', 'deleted', 'enabled']);
  });

  test('a key made while its account is being deleted never stays', async () => {
    const users = await Promise.all(
      ['race1', 'race2', 'race3', 'race4'].map((name) => plane.createUser(name)),
    );
    await Promise.all(
      users.flatMap(({ id }) => [
        ...Array.from({ length: 5 }, () => asAdmin('POST', '/keys', { name: 'late', user_id: id })),
        asAdmin('DELETE', `/users/${id}`),
      ]),
    );
    expect(
      await plane.dataSource.query(
        "SELECT id FROM api_keys WHERE status <> 'deleted' AND user_id = ANY($1)",
        [users.map(({ id }) => id)],
      ),
    ).toEqual([]);
  });

  test('tokens keep it from being deleted until they are forfeited, and then all of them leave the ledger', async () => {
    const ledger = ledgerOf(plane);
    await ledger.initialiseShards();
    const account = await ledger.account('12');
    const model = await ledger.model('1000000');
    expect(
      (
        await plane.call('POST', '/models/subscribe', {
          token: account.token,
          body: { model_id: model.id, tokens: 10 },
        })
      ).status,
    ).toBe(201);
    expect(await asAdmin('DELETE', `/users/${account.id}`)).toMatchObject({
      status: 409,
      body: {
        code: 'account_not_empty',
        detail: 'The account holds 2 USD and 10 tokens; add ?forfeit=true to give them up',
      },
    });
    expect((await asAdmin('DELETE', `/users/${account.id}?forfeit=true`)).status).toBe(204);
    await eventually(async () =>
      expect(await ledger.subscription(account, model)).toMatchObject({
        status: 'closed',
        balance: '0',
      }),
    );
    expect(await ledger.wallet(account)).toBe(0n);
    expect(await ledger.violations()).toEqual({});
  });
});

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
    const demote = (by: { token: string }, whom: { id: number }) =>
      plane.call('PUT', `/users/${whom.id}`, { token: by.token, body: { role: 'user' } });
    const answers = await Promise.all([demote(one, other), demote(other, one)]);
    expect(answers.map((answer) => answer.status).sort((a, b) => a - b)).toEqual([200, 403]);
  });

  test('a demoted administrator loses the role with the next request (S17)', async () => {
    const { id, token } = await plane.createUser('brief');
    await asAdmin('PUT', `/users/${id}`, { role: 'admin' });
    expect((await plane.call('GET', '/users', { token })).status).toBe(200);
    await asAdmin('PUT', `/users/${id}`, { role: 'user' });
    expect((await plane.call('GET', '/users', { token })).status).toBe(403);
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
    const config = loadConfig({
      ...environmentFor({
        databaseUrl: await plane.services.createDatabase(),
        redisUrl: plane.services.redisUrl,
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
    }
  });
});

describe('the list', () => {
  test('pages, sorts, filters and searches', async () => {
    for (let index = 0; index < 5; index += 1)
      await plane.call('POST', '/auth/register', {
        body: { username: `list_${index}%x`.replace('%', ''), password: PASSWORD },
      });
    const page = await asAdmin(
      'GET',
      '/users?q=list_&sort=-username&page=2&page_size=2&status=pending',
    );
    expect(page.body).toMatchObject({ page: 2, page_size: 2, total: 5 });
    expect(page.body.data.map((user: { username: string }) => user.username)).toEqual([
      'list_2x',
      'list_1x',
    ]);
    expect((await asAdmin('GET', '/users?q=%25')).body.total).toBe(0);
  });

  test.each([
    'page=0',
    'page_size=101',
    'sort=password_hash',
    'unknown=1',
    'status=gone',
    'page=1&page=2',
    "sort=id'--",
    'q=',
  ])('refuses ?%s (S8)', async (query) => {
    expect(await asAdmin('GET', `/users?${query}`)).toMatchObject({
      status: 400,
      body: { code: 'invalid_request' },
    });
  });
});
