import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
}, 60_000);
afterAll(() => plane?.stop());

const go = async <Method extends string, Path extends string>(
  method: Method,
  path: Path,
  body?: unknown,
) => (await plane.call(method, path, { token: plane.adminToken, ...(body ? { body } : {}) })).body;
const upstream = async (name: string, protocol: 'openai' | 'anthropic') =>
  (await go('POST', '/upstreams', { name, protocol, base_url: 'http://127.0.0.1:8999/v1' })).id;

test('routes come in the order nodes try them: tier, own protocol, share by weight; each left out says why', async () => {
  const model = await go('POST', '/models', {
    name: 'simulated',
    aliases: ['sim'],
    price: { price_per_million: '1' },
    is_on_shelf: true,
  });
  const [first, second, translated, later] = [
    await upstream('first', 'openai'),
    await upstream('second', 'openai'),
    await upstream('translated', 'anthropic'),
    await upstream('later', 'openai'),
  ];
  const route = (upstream_id: number, priority: number, weight: number) =>
    go('POST', '/routing', {
      model_id: model.id,
      upstream_id,
      upstream_model: 'm',
      priority,
      weight,
    });
  await route(later, 2, 1);
  await route(translated, 1, 9);
  await route(first, 1, 3);
  await route(second, 1, 1);
  const chat = await go('GET', '/routing/simulation?model=sim');
  expect(chat).toMatchObject({
    model: 'simulated',
    is_servable: true,
    reason: null,
    routes: [
      { upstream: 'first', share: 0.75, is_translated: false },
      { upstream: 'second', share: 0.25 },
      { upstream: 'translated', share: 0, is_translated: true, excluded_by: null },
      { upstream: 'later', share: 0 },
    ],
  });
  const messages = await go('GET', '/routing/simulation?model=simulated&protocol=messages');
  expect(messages.routes[0]).toMatchObject({ upstream: 'translated', share: 1 });
  const embeddings = await go('GET', '/routing/simulation?model=simulated&protocol=embeddings');
  expect(
    embeddings.routes.find((one: { upstream: string }) => one.upstream === 'translated'),
  ).toMatchObject({ excluded_by: 'protocol', share: 0 });
  for (const id of [first, second, translated])
    await go('PUT', `/upstreams/${id}`, { enabled: false });
  expect((await go('GET', '/routing/simulation?model=sim')).routes).toMatchObject([
    { excluded_by: 'upstream_disabled' },
    { excluded_by: 'upstream_disabled' },
    { excluded_by: 'upstream_disabled' },
    { upstream: 'later', share: 1 },
  ]);
});

test('a model has one route to the same model of an upstream', async () => {
  const [one, other] = [await upstream('twins', 'openai'), await upstream('no-twins', 'openai')];
  const { id: model_id } = await go('POST', '/models', { name: 'twin-routes' });
  const route = { model_id, upstream_id: one };
  const { id } = await go('POST', '/routing', route);
  const twin = { code: 'route_exists', errors: [{ field: 'upstream_model' }] };
  expect(await go('POST', '/routing', { ...route, priority: 3 })).toMatchObject(twin);
  const elsewhere = await go('POST', '/routing', { ...route, upstream_id: other });
  expect(await go('PUT', `/routing/${elsewhere.id}`, { upstream_id: one })).toMatchObject(twin);
  expect(await go('PUT', `/routing/${id}`, { ...route, weight: 2 })).toMatchObject({ weight: 2 });
  const tried = await Promise.all(
    [1, 2, 3].map(() => go('POST', '/routing', { ...route, upstream_model: 'at-once' })),
  );
  expect(tried.filter(({ code }) => code === 'route_exists')).toHaveLength(2);
});

test('a model without a route and an unknown model are reported', async () => {
  const { id } = await go('POST', '/models', { name: 'unrouted' });
  expect(await go('GET', `/routing/simulation?model_id=${id}`)).toMatchObject({
    is_servable: false,
    reason: 'The model is off the shelf',
  });
  expect((await go('GET', '/routing/simulation?model=unknown-model')).code).toBe('not_found');
  expect((await go('GET', '/routing/simulation')).code).toBe('invalid_request');
});

test('health says the share, errors and latency of each route in the last day, and what users may not read', async () => {
  const model = await go('POST', '/models', { name: 'watched' });
  const [busy, quiet] = [await upstream('busy', 'openai'), await upstream('quiet', 'openai')];
  const add = (upstreamId: number, hoursAgo: number, requests: number, bucket: number) =>
    plane.dataSource.query(
      `INSERT INTO usage_totals (hour, model_id, upstream_id, requests, errors, charge, duration_histogram, first_token_histogram)
       SELECT date_trunc('hour', now()) - make_interval(hours => $3), $1, $2, $4, 1, 0, h, h
       FROM (SELECT array_agg(CASE WHEN b = $5 THEN $4 ELSE 0 END::bigint ORDER BY b) AS h FROM generate_series(0, 23) b) histogram`,
      [model.id, upstreamId, hoursAgo, requests, bucket],
    );
  await add(busy, 0, 2, 0);
  await add(busy, 3, 4, 0);
  await add(quiet, 1, 2, 5);
  await add(quiet, 30, 1_000, 5);
  const { traffic, failing } = await go('GET', '/routing/health');
  expect(failing).toEqual([]);
  expect(traffic).toMatchObject([
    { upstream_id: busy, requests: 6, errors: 2, share: 0.75, duration_p95_ms: 5 },
    { upstream_id: quiet, requests: 2, errors: 1, share: 0.25, duration_p95_ms: 59 },
  ]);
  const { token } = await plane.createUser('curious');
  expect((await plane.call('GET', '/routing/health', { token })).status).toBe(403);
});

test('a deleted model takes its routes with it, so that its upstream can be deleted', async () => {
  const { id: model_id } = await go('POST', '/models', { name: 'leaves' });
  const upstream_id = await upstream('left', 'openai');
  await go('POST', '/routing', { model_id, upstream_id, upstream_model: 'm' });
  const remove = <Path extends string>(path: Path) =>
    plane.call('DELETE', path, { token: plane.adminToken });
  expect((await remove(`/upstreams/${upstream_id}`)).status).toBe(409);
  expect((await remove(`/models/${model_id}`)).status).toBe(204);
  expect((await remove(`/upstreams/${upstream_id}`)).status).toBe(204);
});
