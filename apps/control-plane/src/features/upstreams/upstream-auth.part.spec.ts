import { beforeAll, expect, test } from '@jest/globals';
import { createSecretBox } from '@tollgate/contracts';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await sharedControlPlane();
}, 60_000);
const BASE_URL = 'https://api.example.com/v1';
const admin = <Method extends string, Path extends string>(
  method: Method,
  path: Path,
  body?: unknown,
) => plane.call(method, path, { token: plane.adminToken, body });
const create = (name: string, more: object) =>
  admin('POST', '/upstreams', { name, protocol: 'openai', base_url: BASE_URL, ...more });
const KEY = { type: 'api_key', api_key: 'sk-canary-auth' };

test('auth is sealed, named by its kind and never answered; api_key is short for it', async () => {
  const created = await create('by-auth', { auth: KEY });
  expect(created).toMatchObject({ status: 201, body: { has_api_key: true, auth_type: 'api_key' } });
  const { id } = created.body;
  const [{ sealed_api_key: sealed }] = await plane.dataSource.query(
    'SELECT sealed_api_key FROM upstreams WHERE id = $1',
    [id],
  );
  const box = createSecretBox({ current: plane.environment['ENCRYPTION_KEY'] ?? '' });
  expect(box.open(sealed, { upstreamId: id, baseUrl: BASE_URL })).toBe(KEY.api_key);
  const log = await admin('GET', '/activity/logs');
  for (const answer of [created, log]) expect(JSON.stringify(answer.body)).not.toContain('canary');
});

test('Bedrock takes the credential of AWS, of which no answer and no log has a secret', async () => {
  const aws = { type: 'aws', region: 'us-east-1', access_key_id: 'AKID' };
  const auth = { ...aws, secret_access_key: 'canary-secret', session_token: 'canary-token' };
  const base_url = 'https://bedrock-runtime.us-east-1.amazonaws.com';
  const created = await create('bedrock', { protocol: 'bedrock', base_url, auth });
  expect(created).toMatchObject({ status: 201, body: { auth_type: 'aws', has_api_key: true } });
  const { id } = created.body;
  const [row] = await plane.dataSource.query('SELECT * FROM upstreams WHERE id = $1', [id]);
  const box = createSecretBox({ current: plane.environment['ENCRYPTION_KEY'] ?? '' });
  expect(JSON.parse(box.open(row.sealed_api_key, { upstreamId: id, baseUrl: base_url }))).toEqual(
    auth,
  );
  const log = await admin('GET', '/activity/logs');
  for (const said of [created.body, log.body, row])
    expect(JSON.stringify(said)).not.toContain('canary');
});

test.each([
  ['beside api_key', { auth: KEY, api_key: 'x' }, 'auth'],
  ['an unknown type', { auth: { type: 'ldap', user: 'u' } }, 'auth.type'],
  [
    'a type that the protocol does not take',
    { auth: { type: 'aws', region: 'us-east-1', access_key_id: 'a', secret_access_key: 'canary' } },
    'auth.type',
  ],
  [
    'an unknown region',
    { auth: { type: 'aws', region: 'mars', access_key_id: 'a', secret_access_key: 'canary' } },
    'auth.region',
  ],
  ['a key that reads as an object', { api_key: '{"type":"aws"}' }, 'api_key'],
])(
  'auth is refused %s, by the name of its field and without its secret',
  async (name, more, field) => {
    const { status, body } = await create(`refused ${name}`, more);
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain(`"${field}"`);
    expect(JSON.stringify(body)).not.toContain('canary');
  },
);
