import { beforeAll, expect, test } from '@jest/globals';
import { createSecretBox, CREDENTIALS_MAX } from '@tollgate/contracts';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { readRoutingRows } from '../snapshots/read-routing-rows.sql.ts';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await sharedControlPlane();
}, 60_000);
const BASE_URL = 'https://shared.example.com/v1';
const admin = <Method extends string, Path extends string>(
  method: Method,
  path: Path,
  body?: unknown,
) => plane.call(method, path, { token: plane.adminToken, body });
const upstream = async (name: string, more: object = { api_key: 'sk-canary-own' }) => {
  const given = { name, protocol: 'openai', base_url: BASE_URL, ...more };
  const { body } = await admin('POST', '/upstreams', given);
  const path = `/upstreams/${body.id}` as const;
  const credentials = async () => (await admin('GET', path)).body.credentials;
  const routing = async () => {
    const { upstreams } = await plane.dataSource.transaction(readRoutingRows);
    return upstreams.find(({ id }) => id === body.id)?.credentials ?? [];
  };
  return { id: body.id as number, path, credentials, routing };
};

test('further credentials stand beside the own one, sealed each to itself and never answered', async () => {
  const { id, path, credentials, routing } = await upstream('several');
  const added = await admin('POST', `${path}/credentials`, {
    name: 'second',
    api_key: 'sk-canary-second',
    weight: 3,
  });
  expect(added).toMatchObject({ status: 201, body: { name: 'second', weight: 3, enabled: true } });
  expect(await credentials()).toMatchObject([
    { id: 0, name: null, weight: 1, enabled: true, resting: [] },
    { id: added.body.id, upstream_id: id, name: 'second', auth_type: 'api_key', resting: [] },
  ]);
  const [own, second] = await routing();
  const box = createSecretBox({ current: plane.environment['ENCRYPTION_KEY'] ?? '' });
  const place = { upstreamId: id, baseUrl: BASE_URL };
  const ofSecond = { ...place, credentialId: added.body.id };
  expect(box.open(own?.sealed ?? '', place)).toBe('sk-canary-own');
  expect(box.open(second?.sealed ?? '', ofSecond)).toBe('sk-canary-second');
  expect(() => box.open(second?.sealed ?? '', place)).toThrow();
  const log = await admin('GET', '/activity/logs');
  for (const answer of [added, log, await admin('GET', path)])
    expect(JSON.stringify(answer.body)).not.toContain('canary');
  expect(log.body.data[0]).toMatchObject({ action: 'upstream.credential_create' });
});

test('each is weighted, disabled, replaced and deleted by itself', async () => {
  const { path, credentials, routing } = await upstream('each');
  const { body } = await admin('POST', `${path}/credentials`, { name: 'b', api_key: 'sk-b' });
  const put = (id: number, change: object) => admin('PUT', `${path}/credentials/${id}`, change);
  const before = await routing();
  expect((await put(0, { weight: 7, enabled: false })).body).toMatchObject({ weight: 7 });
  expect((await put(0, { rpm: 60 })).body).toMatchObject({ weight: 7, rpm: 60, tpm: null });
  expect((await put(body.id, { tpm: 9_000 })).body).toMatchObject({ rpm: null, tpm: 9_000 });
  expect(await routing()).toMatchObject([{ rpm: 60 }, { tpm: 9_000 }]);
  expect((await put(0, { rpm: null })).body).toMatchObject({ rpm: null });
  expect((await put(body.id, { api_key: 'sk-c', name: 'c' })).body).toMatchObject({ name: 'c' });
  const [own, second] = await routing();
  expect([own?.sealed, own?.weight, own?.enabled]).toEqual([before[0]?.sealed, 7, false]);
  expect(second?.sealed).not.toBe(before[1]?.sealed);
  expect((await put(0, { api_key: 'sk-d' })).status).toBe(200);
  expect((await routing())[0]?.sealed).not.toBe(own?.sealed);
  expect((await admin('DELETE', `${path}/credentials/${body.id}`)).status).toBe(204);
  expect((await admin('DELETE', `${path}/credentials/0`)).status).toBe(204);
  expect([await credentials(), await routing()]).toEqual([[], []]);
  expect((await admin('GET', path)).body.has_api_key).toBe(false);
  await admin('PUT', path, { api_key: 'sk-e' });
  const begun = { id: 0, weight: 1, rpm: null, tpm: null, enabled: true };
  expect(await credentials()).toMatchObject([begun]);
});

test('a change of a credential that has changed since it was read is refused', async () => {
  const { path } = await upstream('stale');
  const { body } = await admin('POST', `${path}/credentials`, { name: 'b', api_key: 'sk-b' });
  for (const id of [0, body.id]) {
    const put = (weight: number, headers: Record<string, string> = {}) =>
      plane.call('PUT', `${path}/credentials/${id}`, {
        token: plane.adminToken,
        body: { weight },
        headers,
      });
    const tag = (await put(2)).headers.get('etag') ?? '';
    const changed = await put(3, { 'if-match': tag });
    expect(changed).toMatchObject({ status: 200, body: { weight: 3 } });
    const stale = await put(4, { 'if-match': tag });
    expect([stale.status, stale.body.code]).toEqual([412, 'precondition_failed']);
    expect((await put(5, { 'if-match': '*' })).status).toBe(200);
  }
});

test('what is wrong names its field', async () => {
  const { path } = await upstream('wrong');
  const { body } = await admin('POST', `${path}/credentials`, { name: 'b', api_key: 'sk-b' });
  const aws = { type: 'aws', region: 'us-east-1', access_key_id: 'a', secret_access_key: 'b' };
  const post = (given: object) => admin('POST', `${path}/credentials`, given);
  const put = (id: number, given: object) => admin('PUT', `${path}/credentials/${id}`, given);
  const answers = [
    await post({ name: 'c' }),
    await post({ name: 'c', api_key: 'k', auth: aws }),
    await post({ name: 'c', auth: aws }),
    await post({ name: 'c', api_key: 'k', weight: 0 }),
    await post({ name: 'c', api_key: 'k', weight: 1_001 }),
    await post({ name: 'c', api_key: 'k', rpm: 0 }),
    await put(0, { name: 'c' }),
    await admin('PUT', path, { base_url: 'https://elsewhere.example.com/v1', api_key: 'k' }),
    await admin('POST', `${path}/test`, { model: 'm', credential_id: body.id + 1_000 }),
  ];
  expect(answers.map(({ status, body: said }) => [status, said.errors[0].field])).toEqual([
    [400, 'api_key'],
    [400, 'auth'],
    [400, 'auth.type'],
    [400, 'weight'],
    [400, 'weight'],
    [400, 'rpm'],
    [400, 'name'],
    [400, 'base_url'],
    [400, 'credential_id'],
  ]);
  expect(await post({ name: 'b', api_key: 'k' })).toMatchObject({
    status: 409,
    body: { code: 'credential_name_taken' },
  });
  for (const id of [body.id + 1_000, 'x'])
    expect((await admin('PUT', `${path}/credentials/${id}`, { weight: 1 })).status).toBe(404);
});

test('there are at most 64, the own one among them', async () => {
  const { id, path } = await upstream('full');
  await plane.dataSource.query(
    `INSERT INTO upstream_credentials (upstream_id, name, auth_type, sealed)
     SELECT $1, 'n' || n, 'api_key', 'x' FROM generate_series(1, $2) n`,
    [id, CREDENTIALS_MAX - 2],
  );
  const add = (name: string) => admin('POST', `${path}/credentials`, { name, api_key: 'k' });
  expect((await add('last')).status).toBe(201);
  expect(await add('one too many')).toMatchObject({
    status: 400,
    body: { errors: [{ field: 'name' }] },
  });
  expect((await admin('DELETE', `${path}/credentials/0`)).status).toBe(204);
  expect((await add('in its place')).status).toBe(201);
  for (const own of [{ api_key: 'k' }, { auth: { type: 'api_key', api_key: 'k' } }])
    expect((await admin('PUT', path, own)).status).toBe(400);
  await plane.dataSource.query('DELETE FROM upstream_credentials WHERE upstream_id = $1', [id]);
});
