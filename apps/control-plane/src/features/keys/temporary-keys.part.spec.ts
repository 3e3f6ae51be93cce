import { beforeAll, describe, expect, test } from '@jest/globals';
import { parseApiKey } from '@tollgate/contracts';
import { LiveRecords } from '@tollgate/keyspace';
import { eventually } from '@tollgate/harness';
import { ledgerOf } from '../../testing/ledger-under-test.ts';
import { PASSWORD, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';

let plane: ControlPlane;
let sequence = 0;
beforeAll(async () => {
  plane = await sharedControlPlane();
  await ledgerOf(plane).initialiseShards();
}, 60_000);

const user = () => plane.createUser(`player${(sequence += 1)}`);
const make = (token: string, body?: object) =>
  plane.call('POST', '/playground/key', { token, ...(body ? { body } : {}) });
/** Returns the record of a key as admission would see it. */
async function live(key: string) {
  const parsed = parseApiKey(key);
  if (!parsed) throw new Error('no key');
  return plane.app.get(LiveRecords).getKey(parsed.accountId, parsed.hash);
}

describe('a key of the playground', () => {
  test('calls all models, twenty times a minute, for a quarter of an hour, and is listed as what it is', async () => {
    const { token } = await user();
    const { status, body } = await make(token);
    expect({ status, body }).toMatchObject({ status: 201, body: { rpm: 20, allowed_models: '' } });
    const minutes = (Date.parse(body.expires_at) - Date.now()) / 60_000;
    expect(minutes).toBeGreaterThan(14);
    expect(minutes).toBeLessThanOrEqual(15);
    expect(await live(body.key)).toMatchObject({
      status: 'enabled',
      rpm: 20,
      expiresAtMs: Date.parse(body.expires_at),
    });
    expect((await plane.call('GET', '/keys', { token })).body).toMatchObject({
      total: 1,
      data: [{ id: body.id, is_temporary: true }],
    });
  });

  test('like one of the caller has its models and its tighter limits, and never its secret', async () => {
    const { token } = await user();
    const like = (
      await plane.call('POST', '/keys', {
        token,
        body: { name: 'like', allowed_models: 'a,b-*', rpm: 3, rpd: 100 },
      })
    ).body;
    const { body } = await make(token, { key_id: like.id });
    expect(body).toMatchObject({ allowed_models: 'a,b-*', rpm: 3 });
    expect(body.key).not.toBe(like.key);
    expect(await live(body.key)).toMatchObject({ allowedModels: 'a,b-*', rpm: 3, rpd: 100 });
  });

  test("like another account's is refused, for administrators too", async () => {
    const [owner, stranger] = [await user(), await user()];
    const { body } = await plane.call('POST', '/keys', {
      token: owner.token,
      body: { name: 'theirs' },
    });
    for (const token of [stranger.token, plane.adminToken])
      expect((await make(token, { key_id: body.id })).status).toBe(404);
  });

  test('is one a session: a second ends the first, also when both are asked for at once', async () => {
    const { id, token } = await user();
    const answers = await Promise.all(Array.from({ length: 5 }, () => make(token)));
    const states = await Promise.all(
      answers.map(async ({ body }) => (await live(body.key))?.status ?? 'deleted'),
    );
    expect(states.filter((state) => state === 'enabled')).toHaveLength(1);
    await make(await plane.login(`player${sequence}`, PASSWORD));
    const rows = await plane.dataSource.query(
      "SELECT 1 FROM api_keys WHERE user_id = $1 AND status = 'enabled'",
      [id],
    );
    expect(rows).toHaveLength(2);
  });

  test('is neither changed, disabled nor rotated, also by administrators; it is deleted (S58)', async () => {
    const { token } = await user();
    const { id } = (await make(token)).body;
    for (const by of [token, plane.adminToken])
      for (const [method, path, body] of [
        ['PUT', '', { expires_at: null, rpm: 0 }],
        ['POST', '/rotate', {}],
        ['POST', '/enable', undefined],
        ['POST', '/disable', undefined],
      ] as const)
        expect(await plane.call(method, `/keys/${id}${path}`, { token: by, body })).toMatchObject({
          status: 409,
          body: { code: 'temporary_key' },
        });
    expect((await plane.call('GET', `/keys/${id}`, { token })).body.rpm).toBe(20);
    expect((await plane.call('DELETE', `/keys/${id}`, { token })).status).toBe(204);
  });

  test.each([
    [
      'it has expired',
      (id: number) => ['UPDATE api_keys SET expires_at = now() WHERE user_id = $1', [id]],
    ],
    [
      'its session has ended',
      (id: number) => ['UPDATE sessions SET ended_at = now() WHERE user_id = $1', [id]],
    ],
    [
      'its session has expired',
      (id: number) => ['UPDATE sessions SET expires_at = now() WHERE user_id = $1', [id]],
    ],
    [
      'all sessions of its account have ended',
      (id: number) => [
        'UPDATE users SET session_version = session_version + 1 WHERE id = $1',
        [id],
      ],
    ],
  ] as const)('ends within a second when %s (S58)', async (_, statement) => {
    const { id, token } = await user();
    const { body } = await make(token);
    const [sql, parameters] = statement(id);
    await plane.dataSource.query(sql as string, parameters as unknown[]);
    const endedAt = performance.now();
    await eventually(async () =>
      expect((await live(body.key))?.status ?? 'deleted').toBe('deleted'),
    );
    expect(performance.now() - endedAt).toBeLessThan(1_000);
  });

  test('is not made by an access token', async () => {
    const { token } = await user();
    const made = await plane.call('POST', '/auth/tokens', {
      token,
      body: { name: 'script', scope: 'write' },
    });
    expect((await make(made.body.token)).body.code).toBe('session_needed');
  });
});
