import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseApiKey } from '@tollgate/contracts';
import { LiveRecords } from '@tollgate/keyspace';
import { ledgerOf } from '../../testing/ledger-under-test.ts';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';

let plane: ControlPlane;
let sequence = 0;
beforeAll(async () => {
  plane = await startControlPlane({ KEYS_PER_ACCOUNT: '6' });
  await ledgerOf(plane).initialiseShards();
}, 60_000);
afterAll(() => plane?.stop());

const user = () => plane.createUser(`rotator${(sequence += 1)}`);
const go = <Method extends string, Path extends string>(
  token: string,
  method: Method,
  path: Path,
  body?: unknown,
  headers = {},
) => plane.call(method, path, { token, headers, ...(body === undefined ? {} : { body }) });
async function live(key: string) {
  const parsed = parseApiKey(key);
  return parsed && plane.app.get(LiveRecords).getKey(parsed.accountId, parsed.hash);
}

test('rotation makes a key with the same rights; the old one stays good until the overlap ends', async () => {
  const { token } = await user();
  const old = (
    await go(token, 'POST', '/keys', {
      name: 'service',
      allowed_models: 'a,b',
      rpm: 7,
      ip_allowlist: '10.0.0.0/8',
    })
  ).body;
  const rotated = await go(token, 'POST', `/keys/${old.id}/rotate`, { overlap_minutes: 60 });
  expect(rotated.status).toBe(201);
  expect(rotated.headers.get('location')).toBe(`/admin-api/keys/${rotated.body.id}`);
  expect(rotated.body).toMatchObject({
    name: 'service',
    allowed_models: 'a,b',
    rpm: 7,
    ip_allowlist: '10.0.0.0/8',
    replaces_id: old.id,
    expires_at: null,
  });
  expect(rotated.body.key).not.toBe(old.key);
  const [before, after] = [await live(old.key), await live(rotated.body.key)];
  expect(after).toMatchObject({ status: 'enabled', allowedModels: 'a,b', rpm: 7, expiresAtMs: 0 });
  const minutes = ((before?.expiresAtMs ?? 0) - Date.now()) / 60_000;
  expect(before?.status).toBe('enabled');
  expect(minutes).toBeGreaterThan(59);
  expect(minutes).toBeLessThanOrEqual(60);
});

test('an overlap never makes a key last longer than it was to', async () => {
  const { token } = await user();
  const expires_at = new Date(Date.now() + 60_000).toISOString();
  const old = (await go(token, 'POST', '/keys', { name: 'short', expires_at })).body;
  const rotated = await go(token, 'POST', `/keys/${old.id}/rotate`);
  expect(rotated.body.expires_at).toBe(expires_at);
  expect((await go(token, 'GET', `/keys/${old.id}`)).body.expires_at).toBe(expires_at);
});

test("another account's key cannot be rotated (S24), and a repeat makes no second one", async () => {
  const [owner, stranger] = [await user(), await user()];
  const old = (await go(owner.token, 'POST', '/keys', { name: 'k' })).body;
  expect((await go(stranger.token, 'POST', `/keys/${old.id}/rotate`)).status).toBe(404);
  const headers = { 'idempotency-key': 'rotate-once' };
  const first = await go(owner.token, 'POST', `/keys/${old.id}/rotate`, {}, headers);
  const repeat = await go(owner.token, 'POST', `/keys/${old.id}/rotate`, {}, headers);
  expect(repeat.body).toEqual({ ...first.body, key: null });
  expect((await go(owner.token, 'GET', '/keys')).body.total).toBe(2);
});

test('a repeated creation answers the same key, without its secret', async () => {
  const { token } = await user();
  const headers = { 'idempotency-key': 'once' };
  const first = await go(token, 'POST', '/keys', { name: 'k' }, headers);
  const repeat = await go(token, 'POST', '/keys', { name: 'k' }, headers);
  expect(repeat).toMatchObject({ status: 201, body: { ...first.body, key: null } });
  expect(repeat.headers.get('idempotent-replayed')).toBe('true');
  expect((await go(token, 'POST', '/keys', { name: 'other' }, headers)).status).toBe(422);
  const stored = JSON.stringify(await plane.dataSource.query('SELECT * FROM idempotency_keys'));
  expect(stored).not.toContain(first.body.key.slice(-20));
});

test('an account has no more keys than it may, whatever comes at once; deleting one makes room', async () => {
  const { token } = await user();
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => go(token, 'POST', '/keys', { name: 'k' })),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(6);
  expect(answers.find(({ status }) => status === 409)?.body.code).toBe('limit_reached');
  const [{ id }] = (await go(token, 'GET', '/keys')).body.data;
  expect((await go(token, 'POST', `/keys/${id}/rotate`)).body.code).toBe('limit_reached');
  await go(token, 'DELETE', `/keys/${id}`);
  expect((await go(token, 'POST', '/keys', { name: 'k' })).status).toBe(201);
});

test('temporary keys count like all others', async () => {
  const { token } = await user();
  expect((await go(token, 'POST', '/playground/key')).status).toBe(201);
  for (let number = 2; number <= 6; number += 1)
    expect((await go(token, 'POST', '/keys', { name: 'k' })).status).toBe(201);
  expect((await go(token, 'POST', '/keys', { name: 'k' })).body.code).toBe('limit_reached');
  // The next one of the same session takes the place of the first.
  const next = await go(token, 'POST', '/playground/key');
  expect(next.status).toBe(201);
  await go(token, 'DELETE', `/keys/${next.body.id}`);
  expect((await go(token, 'POST', '/keys', { name: 'k' })).status).toBe(201);
  expect((await go(token, 'POST', '/playground/key')).body.code).toBe('limit_reached');
});

test('lists say whether there is more, and a body that is not JSON is refused on every route that takes one', async () => {
  const { token } = await user();
  for (const name of ['a', 'b', 'c']) await go(token, 'POST', '/keys', { name });
  const pages = await Promise.all(
    [1, 2].map((page) => go(token, 'GET', `/keys?page_size=2&page=${page}`)),
  );
  expect(pages.map(({ body }) => body.has_more)).toEqual([true, false]);
  expect((await go(token, 'GET', '/usage/logs')).body).toMatchObject({
    next_cursor: null,
    has_more: false,
  });
  const node = await go(plane.adminToken, 'POST', '/proxy-nodes', { name: 'typed' });
  for (const contentType of ['text/plain', 'application/x-www-form-urlencoded', 'text/json'])
    for (const [method, path] of [
      ['POST', `/proxy-nodes/${node.body.id}/toggle`],
      ['POST', '/keys'],
      ['PUT', '/models/1'],
    ] as const)
      expect(
        await plane.call(method, path, {
          token: plane.adminToken,
          rawBody: 'enabled=false',
          headers: { 'content-type': contentType },
        }),
      ).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } });
  const path = `/proxy-nodes/${node.body.id}` as const;
  expect((await go(plane.adminToken, 'GET', path)).body.enabled).toBe(node.body.enabled);
});
