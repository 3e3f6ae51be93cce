import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { createCustomer } from '@tollgate/harness';
import { home, model, run, shareTollgate, tollgate } from './command-line-under-test.ts';

shareTollgate();

const COUNT = 250;
let env: Record<string, string> = {};

beforeAll(() => {
  env = { TOLLGATE_URL: tollgate.adminUrl, TOLLGATE_TOKEN: tollgate.admin.token ?? '' };
});

function file(name: string, text: string): string {
  const target = path.join(home, name);
  writeFileSync(target, text);
  return target;
}
const config = (args: string[], more: Record<string, string> = {}) =>
  run(['config', ...args], { env: { ...env, ...more } });

const json = async (...args: string[]) =>
  JSON.parse((await run([...args, '--json'], { env })).stdout);

test('an exported configuration changes nothing when it is applied', async () => {
  const { stdout, status } = await config(['export']);
  expect(status).toBe(0);
  const exported = file('exported.yaml', stdout);
  expect(await config(['plan', exported, '--prune'])).toMatchObject({
    status: 0,
    stdout: 'Nothing differs.\n',
  });
});

const second = () =>
  file(
    'second.yaml',
    `
upstreams:
  second:
    protocol: openai
    base_url: ${tollgate.upstreamUrl}/v1
    api_key: { env: SECOND_KEY }
models:
  planned:
    context_window: 128000
    price: { price_per_million: 2.50, weight_output: 4 }
    is_on_shelf: true
    routes:
      - { upstream: second, upstream_model: planned-2026, weight: 3 }
ceilings: { rpm: 900 }
`,
  );

test('what a file states is made once, and a second run finds nothing to do', async () => {
  const planned = await config(['plan', second()]);
  expect(planned).toMatchObject({
    status: 1,
    stdout: expect.stringContaining('api_key: secret {"env":"SECOND_KEY"}'),
  });
  // A missing secret changes nothing.
  expect(await config(['apply', second()])).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('SECOND_KEY is not set'),
  });
  expect((await json('models', 'list', '--search', 'planned')).data).toEqual([]);
  const applied = await config(['apply', second()], { SECOND_KEY: 'sk-second' });
  expect(applied).toMatchObject({
    status: 0,
    stderr: '',
    stdout: expect.stringContaining('5 of 5 changes are applied.'),
  });
  const [made] = (await json('models', 'list', '--search', 'planned')).data;
  expect(made).toMatchObject({ context_window: 128_000, is_on_shelf: true });
  const again = await config(['apply', second()]);
  expect(again).toMatchObject({ status: 0, stdout: expect.stringContaining('Nothing differs') });
});

test('drift is shown, and put right', async () => {
  await run(['models', 'update', 'planned', '--context-window', '64000'], { env });
  const planned = await config(['plan', second()]);
  expect(planned.status).toBe(1);
  expect(planned.stdout).toContain('~ model planned\n    context_window: 64000 -> 128000\n');
  expect(await config(['apply', second()])).toMatchObject({ status: 0 });
  expect(await config(['plan', second()])).toMatchObject({ status: 0 });
});

test('a refused change is named, and nothing that needs it is tried', async () => {
  const wrong = file(
    'wrong.yaml',
    'models: { unpriced: { is_on_shelf: true, context_window: 0, routes: [{ upstream: second }] } }',
  );
  expect(await config(['apply', wrong])).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^\+ model unpriced: [^]*context_window: /),
  });
});

test('prune takes models off the shelf that accounts are subscribed to, and deletes others', async () => {
  const customer = await createCustomer(tollgate);
  await customer.client.call('POST', '/models/subscribe', { model_id: model.id, tokens: 1000 });
  const none = file('none.yaml', 'models: {}');
  const refused = await config(['apply', none, '--prune']);
  expect(refused).toMatchObject({ status: 2, stderr: expect.stringContaining('--yes') });
  expect(await config(['apply', none, '--prune', '--yes'])).toMatchObject({ status: 0 });
  const { data } = await json('models', 'list');
  expect(data).toMatchObject([{ name: model.name, is_on_shelf: false }]);
});

test('a thousand objects are made by one file', async () => {
  const names = Array.from({ length: COUNT }, (_, index) => `bulk-${index}`);
  const upstreams = names.map(
    (name) => `  ${name}: { protocol: openai, base_url: "${tollgate.upstreamUrl}/v1" }`,
  );
  const models = names.map(
    (name) => `  ${name}: { price: { price_per_million: 1 }, routes: [{ upstream: ${name} }] }`,
  );
  const bulk = file('bulk.yaml', ['upstreams:', ...upstreams, 'models:', ...models].join('\n'));
  expect(await config(['apply', bulk])).toMatchObject({ status: 0, stderr: '' });
  expect(await config(['plan', bulk])).toMatchObject({ status: 0 });
  expect(await json('routing', 'list', '--search', 'bulk-', '--page-size', '1')).toMatchObject({
    total: COUNT,
  });
}, 60_000);
