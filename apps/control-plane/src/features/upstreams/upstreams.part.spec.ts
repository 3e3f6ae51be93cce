import { beforeAll, describe, expect, test } from '@jest/globals';
import { createSecretBox } from '@tollgate/contracts';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { readRoutingRows } from '../snapshots/read-routing-rows.sql.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';

let plane: ControlPlane;
const admin = <Method extends string, Path extends string>(
  method: Method,
  path: Path,
  body?: unknown,
) => plane.call(method, path, { token: plane.adminToken, body });
const provider = (name: string, more: object = {}) => ({
  name,
  protocol: 'openai',
  base_url: 'https://api.example.com/v1',
  api_key: 'sk-canary-secret',
  ...more,
});

beforeAll(async () => {
  plane = await sharedControlPlane();
}, 60_000);

test('an upstream is created, read, changed and deleted; its secret is never answered', async () => {
  const created = await admin(
    'POST',
    '/upstreams',
    provider('main', { headers: { 'X-Team': 'a' } }),
  );
  expect(created).toMatchObject({
    status: 201,
    body: {
      name: 'main',
      has_api_key: true,
      headers: { 'x-team': 'a' },
      enabled: true,
      connect_timeout_ms: 5000,
      max_concurrency: null,
    },
  });
  const { id } = created.body;
  expect(await admin('GET', `/upstreams/${id}`)).toMatchObject({ status: 200, body: { id } });
  expect(
    await admin('PUT', `/upstreams/${id}`, { enabled: false, max_concurrency: 3 }),
  ).toMatchObject({ status: 200, body: { enabled: false, max_concurrency: 3, name: 'main' } });
  const list = await admin('GET', '/upstreams?q=mai&enabled=false');
  expect(list.body).toMatchObject({ total: 1, data: [{ id }] });
  const log = await admin('GET', '/activity/logs');
  for (const answer of [created, list, log])
    expect(JSON.stringify(answer.body)).not.toContain('canary');
  expect((await admin('DELETE', `/upstreams/${id}`)).status).toBe(204);
  expect((await admin('GET', `/upstreams/${id}`)).status).toBe(404);
  expect((await admin('DELETE', `/upstreams/${id}`)).status).toBe(404);
  expect(
    await plane.dataSource.query('SELECT sealed_api_key FROM upstreams WHERE id = $1', [id]),
  ).toEqual([{ sealed_api_key: null }]);
});

test('the endpoints of an upstream are known by its host, until the administrator says otherwise', async () => {
  const created = await admin(
    'POST',
    '/upstreams',
    provider('endpoints', { base_url: 'https://api.openai.com/v1' }),
  );
  expect(created.body).toMatchObject({
    endpoints: null,
    has_endpoints: ['responses', 'completions'],
  });
  const put = (endpoints: unknown) => admin('PUT', `/upstreams/${created.body.id}`, { endpoints });
  expect((await put([])).body).toMatchObject({ endpoints: [], has_endpoints: [] });
  expect((await put(['responses'])).body).toMatchObject({ has_endpoints: ['responses'] });
  expect((await put(['chat'])).status).toBe(400);
  expect((await put(null)).body).toMatchObject({ has_endpoints: ['responses', 'completions'] });
});

test('an upstream passes no ids of files until an administrator says so; nodes learn of it then', async () => {
  const { body } = await admin('POST', '/upstreams', provider('files'));
  expect(body.passes_file_ids).toBe(false);
  const put = (passes_file_ids: unknown) =>
    admin('PUT', `/upstreams/${body.id}`, { passes_file_ids });
  expect((await put(true)).body.passes_file_ids).toBe(true);
  const rows = await plane.dataSource.transaction(readRoutingRows);
  expect(rows.upstreams.find(({ id }) => id === body.id)?.passesFileIds).toBe(true);
  for (const wrong of [null, 'pass']) expect((await put(wrong)).status).toBe(400);
  expect((await put(false)).body.passes_file_ids).toBe(false);
});

test('an upstream of a known provider closes streams, any other reads them on, until the administrator says otherwise', async () => {
  const known = await admin(
    'POST',
    '/upstreams',
    provider('known', { base_url: 'https://api.openai.com/v1' }),
  );
  expect(known.body).toMatchObject({ stops_billing_on_close: null, closes_streams: true });
  const own = await admin('POST', '/upstreams', provider('own'));
  expect(own.body).toMatchObject({ stops_billing_on_close: null, closes_streams: false });
  const put = (value: boolean | null) =>
    admin('PUT', `/upstreams/${own.body.id}`, { stops_billing_on_close: value });
  expect((await put(true)).body).toMatchObject({
    stops_billing_on_close: true,
    closes_streams: true,
  });
  expect((await put(null)).body).toMatchObject({
    stops_billing_on_close: null,
    closes_streams: false,
  });
});

test('S11, S15: the stored secret opens for its own row only; PUT without it keeps it, null removes it', async () => {
  const { id } = (await admin('POST', '/upstreams', provider('sealed'))).body;
  const stored = async (): Promise<string | null> =>
    (await plane.dataSource.query('SELECT sealed_api_key FROM upstreams WHERE id = $1', [id]))[0]
      .sealed_api_key;
  const box = createSecretBox({ current: plane.environment['ENCRYPTION_KEY'] ?? '' });
  const place = { upstreamId: id, baseUrl: provider('sealed').base_url };
  const before = await stored();
  expect(before).not.toContain('canary');
  expect(box.open(before ?? '', place)).toBe('sk-canary-secret');
  expect(() => box.open(before ?? '', { ...place, upstreamId: id + 1 })).toThrow();
  await admin('PUT', `/upstreams/${id}`, { name: 'sealed-2' });
  expect(await stored()).toBe(before);
  expect((await admin('PUT', `/upstreams/${id}`, { api_key: null })).body.has_api_key).toBe(false);
  expect(await stored()).toBeNull();
});

test.each([
  ['scheme', 'http://127.0.0.1:8443/v1'],
  ['host', 'https://127.0.0.2:8443/v1'],
  ['port', 'https://127.0.0.1:8444/v1'],
  ['path', 'https://127.0.0.1:8443/v2'],
])(
  'another %s of an upstream takes its key again, also from administrators',
  async (part, base_url) => {
    const { id } = (
      await admin(
        'POST',
        '/upstreams',
        provider(`moves-${part}`, { base_url: 'https://127.0.0.1:8443/v1' }),
      )
    ).body;
    const put = (body: object) => admin('PUT', `/upstreams/${id}`, body);
    expect(await put({ base_url })).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'api_key' }] },
    });
    expect((await admin('GET', `/upstreams/${id}`)).body.base_url).toBe(
      'https://127.0.0.1:8443/v1',
    );
    expect(
      (await put({ base_url: 'https://127.0.0.1:8443/v1/', name: `${part}-stays` })).status,
    ).toBe(200);
    expect((await put({ base_url, api_key: 'sk-again' })).body).toMatchObject({ base_url });
    expect((await put({ base_url: 'https://127.0.0.1:8445/v1', api_key: null })).status).toBe(200);
    expect((await put({ base_url: 'https://127.0.0.1:8446/v1' })).status).toBe(200);
  },
);

describe('an upstream is refused when it is saved with', () => {
  test.each([
    ['a private address', { base_url: 'https://10.0.0.1/v1' }, 'base_url'],
    ['plain http to the internet', { base_url: 'http://8.8.8.8/v1' }, 'base_url'],
    ['a user name in the address', { base_url: 'https://a:b@api.example.com/v1' }, 'base_url'],
    [
      'a header that carries a credential',
      { headers: { Authorization: 'Bearer x' } },
      'headers.authorization',
    ],
    ['a header of the connection', { headers: { connection: 'close' } }, 'headers.connection'],
    ['a header that splits the request', { headers: { 'x-a': 'b\r\nx-c: d' } }, 'headers.x-a'],
    ['an unknown protocol', { protocol: 'smtp' }, 'protocol'],
    ['an unknown field', { priority: 1 }, 'priority'],
    ['a timeout of zero', { idle_timeout_ms: 0 }, 'idle_timeout_ms'],
  ])('%s', async (_name, more, field) => {
    const answer = await admin('POST', '/upstreams', provider('bad', more));
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ field }] } });
  });

  test('a name that is taken, and gives it free again after deletion', async () => {
    const first = await admin('POST', '/upstreams', provider('twin'));
    expect(await admin('POST', '/upstreams', provider('twin'))).toMatchObject({
      status: 409,
      body: { code: 'upstream_name_taken' },
    });
    await admin('DELETE', `/upstreams/${first.body.id}`);
    expect((await admin('POST', '/upstreams', provider('twin'))).status).toBe(201);
  });
});

test('addresses the operator allows are accepted without https', async () => {
  expect(
    await admin('POST', '/upstreams', provider('local', { base_url: 'http://127.0.0.1:9999/v1/' })),
  ).toMatchObject({ status: 201, body: { base_url: 'http://127.0.0.1:9999/v1' } });
});

describe('routes', () => {
  let modelId: number;
  let embeddingId: number;
  let upstreamId: number;
  beforeAll(async () => {
    modelId = (
      await admin('POST', '/models', {
        name: 'chatty',
        price: { price_per_million: '1' },
        is_on_shelf: true,
      })
    ).body.id;
    embeddingId = (
      await admin('POST', '/models', {
        name: 'vectors',
        kind: 'embedding',
        price: { price_per_million: '1' },
      })
    ).body.id;
    upstreamId = (await admin('POST', '/upstreams', provider('routed'))).body.id;
  });

  test('are created with the model name by default, listed, changed and deleted', async () => {
    const created = await admin('POST', '/routing', { model_id: modelId, upstream_id: upstreamId });
    expect(created).toMatchObject({
      status: 201,
      body: {
        upstream_model: 'chatty',
        priority: 0,
        weight: 1,
        enabled: true,
        output_limit_field: 'auto',
      },
    });
    const { id } = created.body;
    expect(
      await admin('PUT', `/routing/${id}`, {
        weight: 5,
        output_limit_field: 'max_completion_tokens',
      }),
    ).toMatchObject({ status: 200, body: { weight: 5, model_id: modelId } });
    expect((await admin('GET', `/routing?model_id=${modelId}`)).body).toMatchObject({
      total: 1,
      data: [{ id, weight: 5 }],
    });
    expect(await admin('DELETE', `/upstreams/${upstreamId}`)).toMatchObject({
      status: 409,
      body: { code: 'upstream_in_use' },
    });
    expect((await admin('DELETE', `/routing/${id}`)).status).toBe(204);
    expect((await admin('PUT', `/routing/${id}`, { weight: 1 })).status).toBe(404);
  });

  test('to what does not exist are refused by the name of the field', async () => {
    expect(
      await admin('POST', '/routing', { model_id: 999999, upstream_id: upstreamId }),
    ).toMatchObject({ status: 404, body: { errors: [{ field: 'model_id' }] } });
    expect(
      await admin('POST', '/routing', { model_id: modelId, upstream_id: 999999 }),
    ).toMatchObject({ status: 404, body: { errors: [{ field: 'upstream_id' }] } });
    expect(
      await admin('POST', '/routing', { model_id: modelId, upstream_id: upstreamId, weight: 0 }),
    ).toMatchObject({ status: 400, body: { errors: [{ field: 'weight' }] } });
  });

  test('never send embeddings to the messages protocol, from either side', async () => {
    const { id } = (
      await admin('POST', '/upstreams', provider('claude', { protocol: 'anthropic' }))
    ).body;
    expect(
      await admin('POST', '/routing', { model_id: embeddingId, upstream_id: id }),
    ).toMatchObject({ status: 400, body: { errors: [{ field: 'upstream_id' }] } });
    expect(
      (await admin('POST', '/routing', { model_id: embeddingId, upstream_id: upstreamId })).status,
    ).toBe(201);
    expect(await admin('PUT', `/upstreams/${upstreamId}`, { protocol: 'anthropic' })).toMatchObject(
      { status: 400, body: { errors: [{ field: 'protocol' }] } },
    );
  });
});
