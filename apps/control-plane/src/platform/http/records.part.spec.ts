import { beforeAll, describe, expect, test } from '@jest/globals';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await sharedControlPlane();
}, 60_000);

const go = <Method extends string, Path extends string>(
  method: Method,
  path: Path,
  body?: unknown,
  headers = {},
) =>
  plane.call(method, path, {
    token: plane.adminToken,
    headers,
    ...(body === undefined ? {} : { body }),
  });

/** Describes the record that `POST` makes at each collection, with the field that is shown once. */
const CREATIONS: Record<
  string,
  { body: (ids: Record<string, number>) => object; secret?: string }
> = {
  '/users': { body: () => ({ username: 'repeated' }), secret: 'one_time_password' },
  '/keys': { body: () => ({ name: 'repeated' }), secret: 'key' },
  '/keys/{id}/rotate': { body: () => ({ overlap_minutes: 1 }), secret: 'key' },
  '/budgets': {
    body: (ids) => ({
      scope: { key_id: ids['/keys'] },
      ...{ unit: 'requests', amount: 1, period: 'day' },
    }),
  },
  '/auth/tokens': { body: () => ({ name: 'repeated', scope: 'read' }), secret: 'token' },
  '/playground/key': { body: () => ({}), secret: 'key' },
  '/models': {
    body: () => ({ name: 'repeated', price: { price_per_million: '1' }, is_on_shelf: true }),
  },
  '/models/pricing': { body: (ids) => ({ model_id: ids['/models'], price_per_million: '2' }) },
  '/models/subscribe': { body: (ids) => ({ model_id: ids['/models'], tokens: 1 }) },
  '/wallet/recharge': { body: () => ({ amount: '1' }) },
  '/upstreams': {
    body: () => ({
      name: 'repeated',
      protocol: 'openai',
      base_url: 'http://127.0.0.1:8999/v1',
      api_key: 'sk-of-the-provider',
    }),
  },
  '/upstreams/{id}/credentials': {
    body: () => ({ name: 'repeated', api_key: 'sk-beside-the-first' }),
  },
  '/routing': {
    body: (ids) => ({ model_id: ids['/models'], upstream_id: ids['/upstreams'] }),
  },
  '/proxy-nodes': { body: () => ({ name: 'repeated' }), secret: 'credential' },
};

/** Holds another body for the same key. */
const OTHER: Record<string, object> = {
  '/users': { username: 'other' },
  '/keys': { name: 'other' },
  '/keys/{id}/rotate': { overlap_minutes: 2 },
  '/budgets': { amount: 2 },
  '/auth/tokens': { name: 'other' },
  '/playground/key': { key_id: 1 },
  '/models': { name: 'other' },
  '/models/pricing': { price_per_million: '3' },
  '/models/subscribe': { tokens: 2 },
  '/wallet/recharge': { amount: '2' },
  '/upstreams': { api_key: 'sk-another' },
  '/upstreams/{id}/credentials': { api_key: 'sk-another' },
  '/routing': { priority: 1 },
  '/proxy-nodes': { name: 'other' },
};

describe('Idempotency-Key on every POST that creates', () => {
  test('is taken by each of them but register, where no account is known yet', () => {
    const { paths } = plane.documented.document;
    const creating = Object.entries(paths).flatMap(([path, { post }]) =>
      post?.responses['201'] && !path.endsWith('/auth/register')
        ? [path.replace('/admin-api', '')]
        : [],
    );
    expect(creating.toSorted()).toEqual(Object.keys(CREATIONS).toSorted());
  });

  test('answers a repeat as the first call, with secrets null, and stores no secret for it', async () => {
    const secrets = ['sk-of-the-provider', 'sk-beside-the-first'];
    await go('POST', '/wallet/admin-recharge', { user_id: 1, amount: '5', note: 'to spend' });
    const ids: Record<string, number> = {};
    for (const [at, { body, secret }] of Object.entries(CREATIONS)) {
      const path = at.replace('{id}', String(ids[at.slice(0, at.indexOf('/{id}'))]));
      const headers = { 'idempotency-key': 'once' };
      const first = await go('POST', path, body(ids), headers);
      const repeat = await go('POST', path, body(ids), headers);
      const made = first.body as unknown as { id: number } & Record<string, string>;
      ids[at] = made.id;
      expect([at, first.status, first.headers.get('idempotent-replayed')]).toEqual([at, 201, null]);
      expect([at, repeat.status, repeat.headers.get('idempotent-replayed')]).toEqual([
        at,
        201,
        'true',
      ]);
      expect(repeat.body).toEqual({ ...first.body, ...(secret && { [secret]: null }) });
      if (secret) secrets.push(made[secret] ?? '');
      const other = await go('POST', path, { ...body(ids), ...OTHER[at] }, headers);
      expect([at, other.status, other.body.code]).toEqual([at, 422, 'idempotency_key_reused']);
    }
    const stored = JSON.stringify(await plane.dataSource.query('SELECT * FROM idempotency_keys'));
    expect(secrets).toHaveLength(8);
    expect(secrets.filter((secret) => stored.includes(secret))).toEqual([]);
  });
});

/** Makes one record of each kind, and two changes of it. */
async function records(): Promise<Record<string, { path: string; changes: [object, object] }>> {
  const { id: userId } = await plane.createUser('tagged');
  const model = (await go('POST', '/models', { name: 'tagged' })).body.id;
  const upstream = (
    await go('POST', '/upstreams', {
      name: 'tagged',
      protocol: 'openai',
      base_url: 'http://127.0.0.1:8999/v1',
    })
  ).body.id;
  const route = (await go('POST', '/routing', { model_id: model, upstream_id: upstream })).body.id;
  const key = (await go('POST', '/keys', { name: 'tagged' })).body.id;
  const node = (await go('POST', '/proxy-nodes', { name: 'tagged' })).body.id;
  const scope = { key_id: key };
  const limit = { scope, unit: 'requests', amount: 1, period: 'day' };
  const budget = (await go('POST', '/budgets', limit)).body.id;
  return {
    user: { path: `/users/${userId}`, changes: [{ is_demo: true }, { is_demo: false }] },
    model: { path: `/models/${model}`, changes: [{ description: 'a' }, { description: 'b' }] },
    upstream: {
      path: `/upstreams/${upstream}`,
      changes: [{ max_concurrency: 3 }, { max_concurrency: 4 }],
    },
    route: { path: `/routing/${route}`, changes: [{ weight: 2 }, { weight: 3 }] },
    budget: { path: `/budgets/${budget}`, changes: [{ amount: '2' }, { amount: '3' }] },
    key: { path: `/keys/${key}`, changes: [{ rpm: 2 }, { rpm: 3 }] },
    node: { path: `/proxy-nodes/${node}`, changes: [{ url: 'http://127.0.0.1:9' }, { url: null }] },
    ceilings: { path: '/admin/ceilings', changes: [{ rpm: 600 }, { rpm: 500 }] },
  };
}

describe('If-Match on every PUT of a record that is read at its own path', () => {
  test('changes what was read, and refuses without effect what changed meanwhile', async () => {
    const all = await records();
    const { paths } = plane.documented.document;
    const puts = Object.keys(paths).filter(
      (path) => paths[path]?.put && paths[path]?.get && !path.endsWith('/families'),
    );
    expect(Object.keys(all)).toHaveLength(puts.length);
    for (const [kind, { path, changes }] of Object.entries(all)) {
      const read = await go('GET', path);
      const tag = read.headers.get('etag') ?? '';
      expect([kind, tag]).toEqual([kind, expect.stringMatching(/^"\d+-[0-9a-z]+"$/)]);
      const changed = await go('PUT', path, changes[0], { 'if-match': tag });
      expect([kind, changed.status]).toEqual([kind, 200]);
      const stale = await go('PUT', path, changes[1], { 'if-match': tag });
      expect([kind, stale.status, stale.body.code]).toEqual([kind, 412, 'precondition_failed']);
      expect((await go('GET', path)).body).toMatchObject(changes[0]);
      const newer = changed.headers.get('etag') ?? '';
      expect((await go('PUT', path, changes[1], { 'if-match': `"other", ${newer}` })).status).toBe(
        200,
      );
      expect((await go('PUT', path, changes[0], { 'if-match': '*' })).status).toBe(200);
      expect((await go('PUT', path, changes[1])).status).toBe(200);
    }
  }, 60_000);
});

test('an idle connection is kept longer than proxies and clients keep theirs: the next request finds it open', async () => {
  const { headers } = await plane.call('GET', '/auth/me', { token: plane.adminToken });
  expect(headers.get('keep-alive')).toBe('timeout=75');
});
