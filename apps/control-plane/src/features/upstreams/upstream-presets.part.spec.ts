import { beforeAll, expect, test } from '@jest/globals';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';

let plane: ControlPlane;
const create = async (body: object) =>
  plane.call('POST', '/upstreams', { token: plane.adminToken, body });

beforeAll(async () => {
  plane = await sharedControlPlane();
}, 60_000);

test('a provider is added by its preset, a name and a key', async () => {
  expect(await create({ preset: 'deepseek', name: 'deepseek', api_key: 'sk-1' })).toMatchObject({
    status: 201,
    body: {
      protocol: 'openai',
      base_url: 'https://api.deepseek.com/v1',
      endpoints: null,
      stops_billing_on_close: null,
      closes_streams: false,
      has_api_key: true,
    },
  });
});

test('what is given stands before what the preset knows', async () => {
  const given = {
    preset: 'groq',
    name: 'groq',
    base_url: 'https://gateway.example.com/v1',
    stops_billing_on_close: true,
  };
  expect((await create(given)).body).toMatchObject({
    base_url: 'https://gateway.example.com/v1',
    stops_billing_on_close: true,
  });
});

test('a server of the installation gets what no host says of it', async () => {
  const vllm = { preset: 'vllm', name: 'vllm', base_url: 'https://vllm.example.com/v1' };
  expect((await create(vllm)).body).toMatchObject({
    protocol: 'openai',
    endpoints: ['completions'],
    closes_streams: true,
    has_api_key: false,
  });
});

test.each([
  [{ preset: 'vllm' }, 'base_url'],
  [{ preset: 'bedrock', auth: { type: 'api_key', api_key: 'k' } }, 'base_url'],
  [{ base_url: 'https://api.example.com/v1' }, 'protocol'],
  [{ protocol: 'openai' }, 'base_url'],
  [{ preset: 'nobody' }, 'preset'],
])('%j is refused, and the field %s is named', async (body, field) => {
  const { status, body: problem } = await create({ name: 'refused', ...body });
  expect(status).toBe(400);
  expect(problem).toMatchObject({ errors: [{ field }] });
});

test('a preset is no setting of an upstream that exists', async () => {
  const { body } = await create({ preset: 'mistral', name: 'mistral' });
  const change = { token: plane.adminToken, body: { preset: 'groq' } };
  expect((await plane.call('PUT', `/upstreams/${body.id}`, change)).status).toBe(400);
});

test('administrators read the presets, users do not', async () => {
  const { body } = await plane.call('GET', '/upstreams/presets', { token: plane.adminToken });
  expect(body.data).toContainEqual(
    expect.objectContaining({
      name: 'bedrock',
      protocol: 'bedrock',
      base_url: 'https://bedrock-runtime.{region}.amazonaws.com',
      auth_types: ['aws', 'api_key'],
    }),
  );
  expect((await plane.call('GET', '/upstreams/presets', {})).status).toBe(401);
});
