import { describe, expect, test } from '@jest/globals';
import { parseConfig } from './config-file.ts';
import { exportConfig } from './export.ts';
import type { Installation } from './installation.ts';
import { planChanges, type PlanOptions } from './plan.ts';
import { describePlan } from './describe-plan.ts';
import { withSecrets } from './secret-references.ts';

const AT = '2026-01-01T00:00:00.000Z';
const times = { created_at: AT, updated_at: AT };
const upstream = {
  id: 1,
  name: 'main',
  protocol: 'openai',
  base_url: 'https://api.openai.com/v1',
  has_api_key: true,
  auth_type: 'api_key',
  headers: { 'x-team': 'a' },
  connect_timeout_ms: 5000,
  max_concurrency: null,
  endpoints: null,
  enabled: true,
  ...times,
};
const model = {
  id: 3,
  name: 'gpt-5',
  aliases: ['five', 'best'],
  display_name: 'GPT-5',
  kind: 'chat',
  description: '',
  context_window: null,
  failover: {},
  is_on_shelf: true,
  ...times,
};
const price = {
  id: 9,
  model_id: 3,
  price_per_million: '2.5',
  currency: 'USD',
  weight_input: '1',
  weight_output: '4',
  multipliers: { 'service_tier=priority': '2' },
  tiers: [{ above_prompt_tokens: 200_000, weights: { weight_input: '2', weight_output: '6' } }],
  free: false,
  effective_at: AT,
  created_at: AT,
};
const route = {
  id: 5,
  model_id: 3,
  upstream_id: 1,
  upstream_model: 'gpt-5',
  priority: 0,
  weight: 1,
  enabled: true,
  output_limit_field: 'auto',
  context_window: null,
  ...times,
};
const installation = {
  upstreams: [upstream],
  models: [model],
  prices: new Map([[3, price]]),
  routes: [route],
  ceilings: { rpm: 600, updated_at: AT },
} as unknown as Installation;

function plan(text: string, options: Partial<PlanOptions> = {}) {
  return planChanges(parseConfig(text), installation, {
    prune: false,
    sendSecrets: false,
    subscriptionsOf: async () => new Map(),
    ...options,
  });
}

describe('a plan', () => {
  test('of what was exported has no step, with prune either', async () => {
    const file = exportConfig(installation);
    expect(file).toContain('env: UPSTREAM_MAIN_API_KEY');
    expect(await plan(file, { prune: true })).toEqual({ steps: [], unmanaged: [] });
  });

  test('takes no other spelling of a value for a difference', async () => {
    const { steps } = await plan(`
upstreams:
  main: { headers: { X-Team: a } }
models:
  gpt-5:
    aliases: [best, five]
    display_name: |
      GPT-5
    price:
      price_per_million: 2.50
      weight_output: '4.0'
      tiers: [{ weights: { weight_input: 2.0, weight_output: '6.00' }, above_prompt_tokens: 200000 }]`);
    expect(steps).toEqual([]);
  });

  test('writes a whole price where one weight differs, in place of the version in force', async () => {
    const { steps } = await plan(
      'models: { gpt-5: { price: { price_per_million: 2.5, weight_output: 5 } } }',
    );
    expect(steps).toMatchObject([
      {
        action: 'change',
        kind: 'price',
        differences: [{ field: 'weight_output', from: '4', to: '5' }],
        body: {
          model_id: 3,
          replaces: 9,
          price_per_million: '2.5',
          weight_input: '1',
          weight_output: '5',
          multipliers: { 'service_tier=priority': '2' },
          tiers: price.tiers,
          free: false,
        },
      },
    ]);
    expect(steps[0]?.body).not.toHaveProperty('currency');
  });

  test('names what the file does not have, and removes it by choice alone', async () => {
    const text = 'upstreams: {}\nmodels: {}';
    const kept = await plan(text);
    expect(kept.steps).toEqual([]);
    expect(kept.unmanaged).toEqual(['model gpt-5', 'upstream main']);
    const pruned = await plan(text, { prune: true });
    expect(pruned.steps.map(({ action, kind, name }) => `${action} ${kind} ${name}`)).toEqual([
      'remove model gpt-5',
      'remove upstream main',
    ]);
  });

  test('never removes a model with subscriptions, nor what its routes need', async () => {
    const { steps, unmanaged } = await plan('upstreams: {}\nmodels: {}', {
      prune: true,
      subscriptionsOf: async (ids) => new Map(ids.map((id) => [id, 2])),
    });
    expect(steps).toMatchObject([
      { action: 'change', kind: 'shelf', name: 'gpt-5', body: { is_on_shelf: false } },
    ]);
    expect(unmanaged).toEqual([
      'model gpt-5: 2 accounts are subscribed',
      'upstream main: routes lead to it',
    ]);
  });

  test('leaves sections alone that the file does not have', async () => {
    expect(await plan('ceilings: { rpm: 600 }', { prune: true })).toEqual({
      steps: [],
      unmanaged: [],
    });
  });

  test('refuses a route to an upstream that neither has', async () => {
    await expect(plan('models: { gpt-5: { routes: [{ upstream: other }] } }')).rejects.toThrow(
      'models.gpt-5.routes[0].upstream: neither',
    );
  });
});

describe('secrets', () => {
  const keyed = (value: string) => `upstreams: { main: { api_key: ${value} } }`;

  test('stand in no file and no plan', async () => {
    for (const [text, place] of [
      [keyed('sk-live-1'), 'upstreams.main.api_key'],
      [
        'upstreams: { main: { auth: { type: aws, region: us-east-1, secret_access_key: s } } }',
        'upstreams.main.auth: secret_access_key',
      ],
    ] as const)
      expect(() => parseConfig(text)).toThrow(place);
    const sent = await plan(keyed('{ env: KEY }'), { sendSecrets: true });
    expect(sent.steps[0]?.body).toEqual({ api_key: { env: 'KEY' } });
    expect(describePlan(sent)).toContain(
      'api_key: "a secret" -> secret {"env":"KEY"}'.replaceAll('"a secret"', 'a secret'),
    );
  });

  test('are sent with a new address, and otherwise when asked for', async () => {
    expect((await plan(keyed('{ env: KEY }'))).steps).toEqual([]);
    const moved = await plan(
      'upstreams: { main: { base_url: "https://other.example/v1", api_key: { env: KEY } } }',
    );
    expect(Object.keys(moved.steps[0]?.body ?? {})).toEqual(['base_url', 'api_key']);
  });

  test('are read where the reference leads, and only in fields of secrets', () => {
    const body = { api_key: { env: 'KEY' }, headers: { env: 'KEY' } };
    expect(withSecrets(body, { KEY: 'sk-1' })).toEqual({
      api_key: 'sk-1',
      headers: { env: 'KEY' },
    });
    expect(() => withSecrets(body, {})).toThrow('KEY is not set');
  });
});

test('a wrong file is refused by the name of the entry', () => {
  for (const [text, fault] of [
    ['modls: {}', 'modls'],
    ['models: { a: { colour: 1 } }', 'models.a.colour: there is no such field'],
    ['models: { a: { context_window: big } }', 'models.a.context_window: must be a whole number'],
    ['upstreams: { u: { protocol: smtp } }', 'upstreams.u.protocol: must be one of'],
    ['models: { a: { price: {} } }', 'models.a.price.price_per_million'],
    ['models: { a: {}, a: {} }', 'not YAML'],
  ] as const)
    expect(() => parseConfig(text)).toThrow(fault);
});
