import { limitFields } from '@tollgate/contracts';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { ledgerOf, usageEvent, type TestAccount } from '../../testing/ledger-under-test.ts';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { uuidv7 } from '../../platform/http/visitor.ts';
import { UsageWorker } from '../usage/ingest/usage-worker.ts';

let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
let owner: TestAccount;
let stranger: TestAccount;
beforeAll(async () => {
  plane = await sharedControlPlane();
  ledger = ledgerOf(plane);
  await ledger.initialiseShards();
  [owner, stranger] = [await ledger.account('0'), await ledger.account('0')];
}, 60_000);

const as =
  (account: { token: string }) =>
  <Method extends string, Path extends string>(method: Method, path: Path, body?: unknown) =>
    plane.call(method, path, { token: account.token, ...(body === undefined ? {} : { body }) });
const create = async (body: object = {}) =>
  (await as(owner)('POST', '/keys', { name: 'laptop', ...body })).body;

describe('creating', () => {
  test('shows the key once, keeps its hash alone, and takes the names of the interface (S10)', async () => {
    const answer = await as(owner)('POST', '/keys', {
      name: 'laptop',
      allowed_models: 'gpt-4*,o1',
      rpm: 60,
      rph: 600,
      rpd: 6000,
    });
    expect(answer.status).toBe(201);
    const { key, ...shown } = answer.body;
    expect(key).toMatch(new RegExp(`^sk-tg-${owner.id.toString(36)}-[A-Za-z0-9_-]{43}$`));
    expect(shown).toMatchObject({
      user_id: owner.id,
      name: 'laptop',
      allowed_models: 'gpt-4*,o1',
      rpm: 60,
      rph: 600,
      rpd: 6000,
      status: 'enabled',
      expires_at: null,
      ip_allowlist: '',
    });
    expect(key.startsWith(shown.key_prefix)).toBe(true);
    expect((await as(owner)('GET', `/keys/${shown.id}`)).body).toEqual({
      ...shown,
      last_used_at: null,
      limits_in_force: { ...limitFields(() => 0), rpm: 60, rph: 600, rpd: 6000 },
    });
    const [row] = await ledger.query('SELECT * FROM api_keys WHERE id = $1', [shown.id]);
    expect(row.key_hash).toBe(createHash('sha256').update(key).digest('hex'));
    const dump = JSON.stringify([
      row,
      await ledger.query('SELECT * FROM activity_log'),
      await ledger.query('SELECT * FROM live_state_outbox'),
    ]);
    expect(dump).not.toContain(key.slice(-20));
  });

  test('without limits means no limits', async () => {
    expect(await create()).toMatchObject({ rpm: 0, rph: 0, rpd: 0, allowed_models: '' });
  });

  test.each([
    {},
    { name: '' },
    { name: 5 },
    { name: 'a', rpm: -1 },
    { name: 'a', rpm: 1.5 },
    { name: 'a', rpm: '5' },
    { name: 'a', rpd: 2 ** 53 },
    { name: 'a', allowed_models: ['gpt'] },
    { name: 'a', allowed_models: 'gpt 4' },
    { name: 'a', allowed_models: '(a+)+$' },
    { name: 'a', ip_allowlist: 'somewhere' },
    { name: 'a', ip_allowlist: '10.0.0.0/33' },
    { name: 'a', expires_at: 'tomorrow' },
    { name: 'a', expires_at: '2020-01-01T00:00:00Z' },
    { name: 'a', id: 1 },
    { name: 'a', status: 'enabled' },
    { name: 'a', key: 'sk-tg-1' },
  ])('refuses a key with %j', async (body) => {
    expect(await as(owner)('POST', '/keys', body)).toMatchObject({
      status: 400,
      body: { code: 'invalid_request' },
    });
  });

  test('a user cannot mint a key for another account; an administrator can (S22)', async () => {
    expect((await as(owner)('POST', '/keys', { name: 'a', user_id: stranger.id })).status).toBe(
      404,
    );
    expect(
      await ledger.asAdmin('POST', '/keys', { name: 'a', user_id: stranger.id }),
    ).toMatchObject({ status: 201, body: { user_id: stranger.id } });
  });
});

describe('changing', () => {
  test('updates only what is given', async () => {
    const key = await create({ rpm: 5, allowed_models: 'a' });
    expect(
      (await as(owner)('PUT', `/keys/${key.id}`, { name: 'desk', rpd: 7 })).body,
    ).toMatchObject({ name: 'desk', rpm: 5, rpd: 7, allowed_models: 'a' });
    expect((await as(owner)('PUT', `/keys/${key.id}`, { key: 'sk' })).status).toBe(400);
  });

  test('enable and disable are idempotent; a deleted key is unknown', async () => {
    const key = await create();
    for (const verb of ['disable', 'disable', 'enable', 'enable'] as const) {
      expect(await as(owner)('POST', `/keys/${key.id}/${verb}`)).toMatchObject({
        status: 200,
        body: { status: `${verb}d` },
      });
    }
    expect((await as(owner)('DELETE', `/keys/${key.id}`)).status).toBe(204);
    for (const [method, path] of [
      ['GET', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['POST', '/enable'],
      ['POST', '/disable'],
    ] as const) {
      expect(
        (
          await as(owner)(
            method,
            `/keys/${key.id}${path}`,
            method === 'PUT' ? { name: 'x' } : undefined,
          )
        ).status,
      ).toBe(404);
    }
  });

  test("another account's key answers as one that does not exist (S24)", async () => {
    const key = await create();
    for (const [method, path] of [
      ['GET', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['POST', '/enable'],
      ['POST', '/disable'],
    ] as const) {
      const [theirs, unknown] = [
        await as(stranger)(
          method,
          `/keys/${key.id}${path}`,
          method === 'PUT' ? { name: 'x' } : undefined,
        ),
        await as(stranger)(
          method,
          `/keys/999999${path}`,
          method === 'PUT' ? { name: 'x' } : undefined,
        ),
      ];
      expect([theirs.status, theirs.body.code]).toEqual([unknown.status, unknown.body.code]);
      expect(theirs.status).toBe(404);
    }
    expect((await as(stranger)('GET', `/keys?user_id=${owner.id}`)).status).toBe(404);
    expect((await as(owner)('GET', `/keys/${key.id}`)).body).toMatchObject({
      name: 'laptop',
      status: 'enabled',
    });
  });
});

test('a user lists their own keys, an administrator all or those of one account', async () => {
  await create({ name: 'findable' });
  const ownerKeys = (await as(owner)('GET', '/keys?page_size=100')).body.data;
  expect(new Set(ownerKeys.map((key: { user_id: number }) => key.user_id))).toEqual(
    new Set([owner.id]),
  );
  expect((await as(owner)('GET', '/keys?q=findable')).body).toMatchObject({
    total: 1,
    data: [{ name: 'findable' }],
  });
  expect((await as(owner)('GET', '/keys?status=disabled')).body.total).toBe(0);
  const all = (await ledger.asAdmin('GET', '/keys?page_size=100')).body.data;
  expect(new Set(all.map((key: { user_id: number }) => key.user_id)).size).toBeGreaterThan(1);
  expect(
    (await ledger.asAdmin('GET', `/keys?user_id=${stranger.id}`)).body.data.every(
      (key: { user_id: number }) => key.user_id === stranger.id,
    ),
  ).toBe(true);
  expect(JSON.stringify(all)).not.toContain('"key":');
});

test('a key says when its latest request began, to its owner, and null before the first', async () => {
  const [account, model] = [await ledger.account('1'), await ledger.model('1')];
  await as(account)('POST', '/models/subscribe', { model_id: model.id, tokens: 1_000 });
  const { id } = await ledger.subscription(account, model);
  const [used, unused] = [
    (await as(account)('POST', '/keys', { name: 'used' })).body,
    (await as(account)('POST', '/keys', { name: 'unused' })).body,
  ];
  const latest = Date.now() - 3_600_000;
  for (const at of [latest - 90_000_000, latest, latest - 5_000])
    await plane.app.get(UsageWorker).process([
      usageEvent(1, {
        account,
        model,
        subscriptionId: id,
        keyId: used.id,
        rid: uuidv7(at),
        final: { started_at: at },
      }),
    ]);
  const { data } = (await as(account)('GET', '/keys')).body;
  expect(data).toMatchObject([
    { id: used.id, last_used_at: new Date(latest).toISOString() },
    { id: unused.id, last_used_at: null },
  ]);
  const one = await as(account)('GET', `/keys/${used.id}`);
  expect(one.body.last_used_at).toBe(new Date(latest).toISOString());
});
