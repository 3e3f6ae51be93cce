import { beforeAll, expect, test } from '@jest/globals';
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
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

const VERTEX = {
  protocol: 'vertex',
  base_url: 'https://aiplatform.googleapis.com/v1/projects/demo-project/locations/global',
};
const ENTRA = {
  type: 'azure',
  tenant: 'contoso.example',
  client_id: '00000000-0000-4000-8000-000000000001',
  client_secret: 'canary-secret',
};
const FILE = {
  type: 'service_account',
  client_email: 'demo@demo-project.iam.gserviceaccount.com',
  private_key: generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  }).privateKey,
};
const account = (change: object = {}) => google(JSON.stringify({ ...FILE, ...change }));
const google = (service_account: string) => ({ type: 'google', service_account });

test('Vertex takes a service account and Azure an application, of which no answer and no log has a secret', async () => {
  const created = [
    await create('vertex', { ...VERTEX, auth: account() }),
    await create('azure', { protocol: 'azure', auth: ENTRA }),
    await create('claude on foundry', { protocol: 'anthropic', auth: ENTRA }),
  ];
  expect(created.map(({ status, body }) => [status, body.auth_type])).toEqual([
    [201, 'google'],
    [201, 'azure'],
    [201, 'azure'],
  ]);
  const log = await admin('GET', '/activity/logs');
  const rows = await plane.dataSource.query('SELECT * FROM upstreams');
  const said = JSON.stringify([created, log.body, rows]);
  for (const secret of ['PRIVATE KEY', 'demo@demo-project', 'canary-secret'])
    expect(said).not.toContain(secret);
});

test('the test of an upstream fetches its token first, and says without a secret why there is none', async () => {
  const server = createServer((request, response) => {
    const answer = (status: number, body: object) =>
      request.resume().on('end', () => response.writeHead(status).end(JSON.stringify(body)));
    if (request.url === '/token') return answer(200, { access_token: 'issued', expires_in: 3600 });
    if (request.url?.endsWith('/oauth2/v2.0/token'))
      return answer(401, { error: 'invalid_client', error_description: ENTRA.client_secret });
    const isKnown = request.headers.authorization === 'Bearer issued';
    const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 1 };
    return isKnown ? answer(200, { usageMetadata }) : answer(403, {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${Object(server.address()).port}`;
  const tried = async (name: string, more: object) => {
    const { body } = await create(name, more);
    return (await admin('POST', `/upstreams/${body.id}/test`, { model: 'gemini-2.5-flash' })).body;
  };
  const place = { ...VERTEX, base_url: `${origin}/v1/projects/demo-project/locations/global` };
  expect(await tried('double of vertex', { ...place, auth: account() })).toMatchObject({
    ok: true,
    input_tokens: 3,
  });
  const azure = { protocol: 'azure', base_url: `${origin}/openai/v1`, auth: ENTRA };
  expect(await tried('double of entra', azure)).toMatchObject({
    ok: false,
    error: { kind: 'refused', message: 'the token host answered 401: invalid_client: ***' },
  });
  server.closeAllConnections();
  server.close();
});

test.each([
  ['of no JSON', google('canary'), 'must be the JSON file'],
  ['of another identity', account({ type: 'external_account', x: 'canary' }), 'external_account'],
  [
    'without an address',
    account({ client_email: undefined, x: 'canary' }),
    'must be the JSON file',
  ],
  ['of a key that is none', account({ private_key: 'canary' }), 'RSA key'],
  ['of another universe', account({ universe_domain: 'canary.example' }), 'googleapis.com'],
])('a service account %s is refused without a part of it', async (name, auth, reason) => {
  const { status, body } = await create(`account ${name}`, { ...VERTEX, auth });
  expect(status).toBe(400);
  const said = JSON.stringify(body);
  expect(said).toContain('"auth.service_account"');
  expect(said).toContain(reason);
  for (const secret of ['canary', 'PRIVATE KEY', 'demo@demo']) expect(said).not.toContain(secret);
});

test.each([
  ['/v1', 'must end in /v1/projects'],
  ['/v1/projects/X/locations/global', 'project'],
  ['/v1/projects/demo-project/locations/mars', 'location'],
  ['/v1/projects/demo-project/locations/us-central1', 'host of the location'],
])('a Vertex address that ends in %s is refused by its field', async (path, reason) => {
  const base_url = `https://aiplatform.googleapis.com${path}`;
  const { status, body } = await create(`vertex ${path}`, { ...VERTEX, base_url, auth: account() });
  expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining('"base_url"')]);
  expect(JSON.stringify(body)).toContain(reason);
});

test.each([
  ['tenant', 'common'],
  ['client_id', 'app'],
  ['client_secret', ''],
])('an application with a wrong %s is refused by the name of its field', async (field, value) => {
  const auth = { ...ENTRA, [field]: value };
  const { status, body } = await create(`entra ${field}`, { protocol: 'azure', auth });
  expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining(`"auth.${field}"`)]);
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
