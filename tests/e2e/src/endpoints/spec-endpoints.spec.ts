import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@tollgate/harness';
import { ACCOUNT_CASES } from './account-cases.ts';
import { UNKNOWN_ID, type Ask, type EndpointCase, type Scene } from './endpoint-case.ts';
import { FLEET_CASES } from './fleet-cases.ts';
import { ROUTING_CASES } from './routing-cases.ts';
import { MODEL_CASES } from './model-cases.ts';
import { REPORT_CASES } from './report-cases.ts';
import { SPEC_ENDPOINTS, type SpecEndpoint } from './spec-endpoints.ts';
import { startWorld, type World } from './world.ts';

/** Every endpoint of the specification runs against one control plane with two real nodes. */
const CASES: Record<SpecEndpoint, EndpointCase> = {
  ...ACCOUNT_CASES,
  ...MODEL_CASES,
  ...ROUTING_CASES,
  ...FLEET_CASES,
  ...REPORT_CASES,
};

const specification = path.join(
  process.env['TOLLGATE_SHARED'] ?? path.join(import.meta.dirname, '../../../../../shared'),
  'spec.md',
);
const testIfPresent = existsSync(specification) ? test : test.skip;

testIfPresent(
  'the checked-in list is the table of the specification (skipped where spec.md is not beside this checkout; TOLLGATE_SHARED names its folder)',
  () => {
    const rows = readFileSync(specification, 'utf8').matchAll(
      /^\| (GET|POST|PUT|DELETE) \| (\/\S+) \|/gm,
    );
    expect([...rows].map(([, method, route]) => `${method} ${route}`)).toEqual([...SPEC_ENDPOINTS]);
  },
);

test('every endpoint has its cases, and no case is of another', () => {
  expect(Object.keys(CASES).toSorted()).toEqual([...SPEC_ENDPOINTS].toSorted());
});

let world: World;
beforeAll(async () => {
  world = await startWorld();
  await until(
    'usage of the first request',
    async () => (await world.admin.list(`/usage/logs?rid=${world.rid}`)).length > 0,
  );
}, 60_000);
afterAll(() => world?.tollgate.stop(), 30_000);

async function send(
  endpoint: SpecEndpoint,
  { path: route, body, token = world.admin.token }: Ask,
): Promise<{ status: number; type: string | null; answer: unknown }> {
  const [method = '', own = ''] = endpoint.split(' ');
  const response = await fetch(
    `${world.tollgate.adminUrl}/admin-api${route ?? own.replace('{id}', String(UNKNOWN_ID))}`,
    {
      method,
      headers: {
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    },
  );
  const text = await response.text();
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    answer: text === '' ? undefined : JSON.parse(text),
  };
}

async function expectScene(
  endpoint: SpecEndpoint,
  { status, answer, ...ask }: Scene,
): Promise<void> {
  const got = await send(endpoint, ask);
  // Both are compared together, so that a failure shows what came instead.
  expect(got).toMatchObject({ status, ...(answer !== undefined && { answer }) });
  if (status >= 400)
    expect(got).toMatchObject({
      type: expect.stringContaining('application/problem+json'),
      answer: { status, title: expect.any(String), request_id: expect.any(String) },
    });
}

describe.each(SPEC_ENDPOINTS)('%s', (endpoint) => {
  const { access, good, bad } = CASES[endpoint];

  test('does what it is for', async () => expectScene(endpoint, await good(world)));

  test('refuses bad input, saying what is wrong', async () =>
    expectScene(endpoint, await bad(world)));

  test('keeps out who may not', async () => {
    if (typeof access === 'function') return expectScene(endpoint, await access(world));
    await expectScene(endpoint, { token: null, status: 401, answer: { code: 'unauthenticated' } });
    if (access === 'admin')
      await expectScene(endpoint, {
        token: world.userToken,
        status: 403,
        answer: { code: 'forbidden' },
      });
  });
});
