import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  PASSWORD,
  startControlPlane,
  type ControlPlane,
} from '../../testing/control-plane-under-test.ts';
import type { BulkOutcome, BulkPlan } from './bulk.dto.ts';

let plane: ControlPlane;
let provider: Server;
/** Describes the answer of a provider that was asked for its models. */
let listed: { status: number; text: string };
let sequence = 0;

beforeAll(async () => {
  plane = await startControlPlane();
  provider = createServer((_, response) => response.writeHead(listed.status).end(listed.text));
  await once(provider.listen(0, '127.0.0.1'), 'listening');
}, 180_000);
afterAll(async () => {
  provider?.close();
  await plane?.stop();
});

const post = async <Path extends string>(path: Path, body?: unknown) =>
  plane.call('POST', path, { token: plane.adminToken, body });
const planOf = async (
  path: '/bulk/plan' | '/bulk/plan-models',
  body: object,
): Promise<BulkPlan> => {
  const { status, body: plan } = await post(path, body);
  expect(status).toBe(200);
  return plan as BulkPlan;
};
const account = async () => {
  const username = `bulk${(sequence += 1)}`;
  const { body } = await plane.call('POST', '/auth/register', {
    body: { username, password: PASSWORD },
  });
  return { id: Number(Reflect.get(Object(body), 'id')), username };
};
const upstream = async (protocol = 'openai') => {
  const { port } = provider.address() as AddressInfo;
  const { body } = await post('/upstreams', {
    name: `bulk-up-${(sequence += 1)}`,
    protocol,
    base_url: `http://127.0.0.1:${port}/v1`,
    api_key: 'sk-hidden',
  });
  return Object(body) as { id: number; name: string };
};
const routesOf = async (id: number): Promise<unknown> => {
  const path = `/routing?upstream_id=${id}` as '/routing';
  return Object((await plane.call('GET', path, { token: plane.adminToken })).body).data;
};
const modelNamed = async (name: string) => {
  const { body } = await plane.call('GET', `/models?q=${name}` as '/models', {
    token: plane.adminToken,
  });
  return (Object(body).data as Record<string, unknown>[]).find((row) => row['name'] === name);
};

describe('one act on many records', () => {
  test('a plan says what each row becomes and changes nothing; the act follows it', async () => {
    const [one, two] = [await account(), await account()];
    await post(`/users/${two.id}/reject`);
    const body = { act: 'users.approve', ids: [one.id, two.id, 2_000_000_000] };
    const plan = await planOf('/bulk/plan', body);
    expect(plan.steps).toMatchObject([
      {
        kind: 'user',
        id: one.id,
        name: one.username,
        differences: [{ field: 'status', from: 'pending', to: 'active' }],
        blocked_by: null,
      },
      { id: two.id, differences: [{ field: 'status', from: 'rejected', to: 'active' }] },
      { id: 2_000_000_000, blocked_by: 'not_found' },
    ]);
    expect((await planOf('/bulk/plan', body)).digest).toBe(plan.digest);
    const applied = await post('/bulk/apply', { ...body, digest: plan.digest });
    expect(applied.body).toEqual({ applied: 2, failed: [] });
    const again = await planOf('/bulk/plan', body);
    expect(again.steps.map((step) => step.blocked_by)).toEqual([
      'invalid_transition',
      'invalid_transition',
      'not_found',
    ]);
  });

  test('an act whose plan has become another one is refused, and nothing is changed', async () => {
    const [one, two] = [await account(), await account()];
    const body = { act: 'users.approve', ids: [one.id, two.id] };
    const { digest } = await planOf('/bulk/plan', body);
    await post(`/users/${one.id}/reject`);
    const refused = await post('/bulk/apply', { ...body, digest });
    expect(refused.status).toBe(412);
    expect(refused.body).toMatchObject({ code: 'precondition_failed' });
    const { steps } = await planOf('/bulk/plan', body);
    expect(steps[1]?.differences).toEqual([{ field: 'status', from: 'pending', to: 'active' }]);
  });

  test('freezing states the keys that stop, and leaves out oneself', async () => {
    const { id, username } = await account();
    await post(`/users/${id}/approve`);
    const login = await plane.call('POST', '/auth/login', {
      body: { username, password: PASSWORD },
    });
    const token = String(Reflect.get(Object(login.body), 'token'));
    for (const name of ['a', 'b']) await plane.call('POST', '/keys', { token, body: { name } });
    const me = await plane.call('GET', '/auth/me', { token: plane.adminToken });
    const self = Number(Reflect.get(Object(me.body), 'id'));
    const { steps } = await planOf('/bulk/plan', { act: 'users.freeze', ids: [id, self] });
    expect(steps).toMatchObject([
      { keys: 2, blocked_by: null },
      { blocked_by: 'cannot_change_self' },
    ]);
  });

  test('keys are enabled, disabled and deleted; one that is so already is left out', async () => {
    const keys = await Promise.all(
      ['c', 'd'].map(async (name) => Object((await post('/keys', { name })).body).id as number),
    );
    await post(`/keys/${keys[0]}/disable`);
    for (const [act, blocked] of [
      ['keys.disable', ['unchanged', null]],
      ['keys.enable', [null, null]],
      ['keys.delete', [null, null]],
      ['keys.delete', ['not_found', 'not_found']],
    ] as const) {
      const body = { act, ids: keys };
      const { digest, steps } = await planOf('/bulk/plan', body);
      expect([act, steps.map((step) => step.blocked_by)]).toEqual([act, blocked]);
      const { body: outcome } = await post('/bulk/apply', { ...body, digest });
      expect(outcome).toEqual({
        applied: blocked.filter((reason) => reason === null).length,
        failed: [],
      });
    }
  });

  test('models are put up for sale and taken off it; one without a price stays', async () => {
    const ids = await Promise.all(
      ['bulk-priced', 'bulk-unpriced'].map(async (name) => {
        const price = name === 'bulk-priced' ? { price: { price_per_million: '1' } } : {};
        return Object((await post('/models', { name, ...price })).body).id as number;
      }),
    );
    const body = { act: 'models.sell', ids };
    const { digest, steps } = await planOf('/bulk/plan', body);
    expect(steps).toMatchObject([
      {
        name: 'bulk-priced',
        differences: [{ field: 'is_on_shelf', from: false, to: true }],
        subscriptions: 0,
        blocked_by: null,
      },
      { name: 'bulk-unpriced', blocked_by: 'model_not_priced' },
    ]);
    await post('/bulk/apply', { ...body, digest });
    expect(await modelNamed('bulk-priced')).toMatchObject({ is_on_shelf: true });
    expect(await modelNamed('bulk-unpriced')).toMatchObject({ is_on_shelf: false });
  });

  test('a user plans and acts on nothing', async () => {
    const { id, username } = await account();
    await post(`/users/${id}/approve`);
    const login = await plane.call('POST', '/auth/login', {
      body: { username, password: PASSWORD },
    });
    const token = String(Reflect.get(Object(login.body), 'token'));
    const body = { act: 'users.freeze', ids: [id] };
    expect((await plane.call('POST', '/bulk/plan', { token, body })).status).toBe(403);
  });
});

describe("a provider's models", () => {
  test('are read without a request that is billed; a failure is said', async () => {
    const { id } = await upstream();
    listed = { status: 200, text: JSON.stringify({ data: [{ id: 'gpt-5' }, { id: 'other' }] }) };
    expect((await post(`/upstreams/${id}/models`)).body).toEqual({
      upstream_id: id,
      models: ['gpt-5', 'other'],
      error: null,
    });
    listed = { status: 401, text: 'bad key sk-hidden' };
    const { body } = await post(`/upstreams/${id}/models`);
    expect(body).toMatchObject({
      models: null,
      error: { kind: 'refused', message: 'bad key ***' },
    });
  });

  test('become models with the facts of their family, a price and a route, as planned', async () => {
    const { id, name } = await upstream();
    const old = Object((await post('/models', { name: 'bulk-old' })).body) as { id: number };
    const body = {
      upstream_id: id,
      priority: 3,
      models: [
        {
          upstream_model: 'gpt-5-bulk',
          price: { price_per_million: '2.5', weight_output: '4' },
          is_on_shelf: true,
        },
        { upstream_model: 'Bulk-Old', price: { price_per_million: '9' } },
        { upstream_model: 'no blanks' },
        { upstream_model: 'unsold', is_on_shelf: true },
      ],
    };
    const { digest, steps } = await planOf('/bulk/plan-models', body);
    expect(steps.map(({ kind, name: of, blocked_by: reason }) => [kind, of, reason])).toEqual([
      ['model', 'gpt-5-bulk', null],
      ['route', `gpt-5-bulk > ${name} (gpt-5-bulk)`, null],
      ['route', `Bulk-Old > ${name} (Bulk-Old)`, null],
      ['model', 'no blanks', 'invalid_name'],
      ['route', `no blanks > ${name} (no blanks)`, 'invalid_name'],
      ['model', 'unsold', 'model_not_priced'],
      ['route', `unsold > ${name} (unsold)`, 'model_not_priced'],
    ]);
    const fields = Object.fromEntries(
      steps[0]?.differences.map(({ field, to }) => [field, to]) ?? [],
    );
    expect(fields).toMatchObject({
      kind: 'chat',
      owned_by: 'openai',
      price_per_million: '2.5',
      weight_output: '4',
      is_on_shelf: true,
    });
    expect(Number(fields['context_window'])).toBeGreaterThan(0);
    expect(steps[1]?.differences).toEqual([
      { field: 'priority', from: null, to: 3 },
      { field: 'weight', from: null, to: 1 },
    ]);
    expect(await modelNamed('gpt-5-bulk')).toBe(undefined);
    const { body: outcome } = await post('/bulk/apply-models', { ...body, digest });
    expect(outcome).toEqual({ applied: 3, failed: [] } satisfies BulkOutcome);
    const { name: _, price_per_million: _price, weight_output: _weight, ...facts } = fields;
    expect(await modelNamed('gpt-5-bulk')).toMatchObject(facts);
    expect(await modelNamed('bulk-old')).toMatchObject({ id: old.id });
    expect(await routesOf(id)).toMatchObject([
      { upstream_model: 'gpt-5-bulk', priority: 3 },
      { upstream_model: 'Bulk-Old', model_id: old.id },
    ]);
    const again = await planOf('/bulk/plan-models', body);
    expect(again.steps[0]).toMatchObject({ kind: 'route', blocked_by: 'unchanged' });
  });

  test('of one name become one model with their routes; a route without its model fails', async () => {
    const { id, name } = await upstream();
    const body = {
      upstream_id: id,
      models: [
        { upstream_model: 'Bulk-Twice' },
        { upstream_model: 'bulk-twice' },
        { upstream_model: 'bulk-unsold', is_on_shelf: true },
        { upstream_model: 'bulk-unsold-2', name: 'bulk-unsold' },
      ],
    };
    const { digest } = await planOf('/bulk/plan-models', body);
    const { body: outcome } = await post('/bulk/apply-models', { ...body, digest });
    expect(outcome).toEqual({
      applied: 3,
      failed: [
        {
          kind: 'route',
          id: null,
          name: `bulk-unsold > ${name} (bulk-unsold-2)`,
          code: 'not_found',
          message: 'There is no model bulk-unsold',
        },
      ],
    } satisfies BulkOutcome);
    expect(await routesOf(id)).toMatchObject([
      { upstream_model: 'Bulk-Twice' },
      { upstream_model: 'bulk-twice' },
    ]);
  });

  test('are refused when another has changed what the plan showed', async () => {
    const { id } = await upstream();
    const body = { upstream_id: id, models: [{ upstream_model: 'bulk-raced' }] };
    const { digest } = await planOf('/bulk/plan-models', body);
    await post('/models', { name: 'bulk-raced' });
    expect((await post('/bulk/apply-models', { ...body, digest })).status).toBe(412);
  });

  test('that embed are left out where the protocol has no embeddings, and none is named twice', async () => {
    const { id } = await upstream('anthropic');
    const models = [{ upstream_model: 'bulk-embed', kind: 'embedding' }];
    const { steps } = await planOf('/bulk/plan-models', { upstream_id: id, models });
    expect(steps.map((step) => step.blocked_by)).toEqual(['no_embeddings', 'no_embeddings']);
    const twice = { upstream_id: id, models: [...models, ...models] };
    expect(await post('/bulk/plan-models', twice)).toMatchObject({ status: 400 });
  });
});
