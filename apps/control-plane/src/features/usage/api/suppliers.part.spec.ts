import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { API_DOCUMENT } from '@tollgate/admin-client';
import { z } from 'zod';
import { uuidv7 } from '../../../platform/http/visitor.ts';
import { usageEvent } from '../../../testing/ledger-under-test.ts';
import { get, ledger, plane, subscribed, worker } from './usage-api-under-test.ts';

const SECRETS = /zulu/i;
const document = z
  .object({
    paths: z.record(
      z.string(),
      z.record(z.string(), z.looseObject({ 'x-permission': z.string().optional() })),
    ),
  })
  .parse(JSON.parse(readFileSync(API_DOCUMENT, 'utf8')));

/** Returns the addresses that a user may read, with this key, model, subscription and request in place of what they name. */
function readableBy(values: Readonly<Record<string, string | number>>): string[] {
  return Object.entries(document.paths)
    .filter(([, methods]) => methods['get']?.['x-permission'] === 'user')
    .map(([path]) => path.replace('/admin-api', ''))
    .filter((path) => !path.startsWith('/events'))
    .map((path) => path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? '1')));
}

/** Makes an account whose one request was answered by the upstream `zulu-corp` on the node `zulu-node`. */
async function servedByZulu(isNamed: boolean) {
  const parts = await subscribed();
  const { body: upstream } = await ledger.asAdmin('POST', '/upstreams', {
    name: `zulu-corp-${parts.account.id}`,
    protocol: 'openai',
    base_url: 'https://zulu.example/v1',
  });
  await ledger.asAdmin('POST', '/routing', {
    model_id: parts.model.id,
    upstream_id: upstream.id,
    upstream_model: 'zulu-1',
  });
  if (isNamed)
    await ledger.asAdmin('PUT', `/models/${parts.model.id}`, {
      failover: { names_upstream: true },
    });
  const { body: key } = await plane.call('POST', '/keys', {
    token: parts.account.token,
    body: { name: 'mine' },
  });
  const rid = uuidv7(Date.now() - 1_000);
  const attempts = [{ upstream_id: upstream.id, route_id: 1, error: 'zulu_down', duration_ms: 3 }];
  const final = { upstream_id: upstream.id, node: 'zulu-node:0', attempts };
  await worker.process([usageEvent(10, { ...parts, rid, keyId: key.id, final })]);
  return { ...parts, rid, keyId: key.id, upstreamId: upstream.id };
}

test('no answer that a user can read names an upstream, a route or a node', async () => {
  const { account, rid, keyId, model, upstreamId } = await servedByZulu(false);
  const addresses = [
    ...readableBy({ rid, id: keyId }),
    ...readableBy({ rid, id: model.id }),
    '/usage/logs?format=csv',
    '/usage/statistics?group_by=model&format=csv',
    `/search?q=zulu`,
    `/search?q=${rid}`,
  ];
  expect(addresses).toEqual(expect.arrayContaining(['/usage/logs', `/usage/logs/${rid}/receipt`]));
  const shown: string[] = [];
  for (const address of addresses) {
    const { body } = await get(address as '/usage/logs', account.token);
    const text = JSON.stringify(body).replaceAll('q=zulu', '');
    if (SECRETS.test(text)) shown.push(`${address}: ${text}`);
  }
  expect(shown).toEqual([]);
  expect((await get(`/usage/logs/${rid}/receipt`, account.token)).body).toMatchObject({
    node: null,
    upstream_id: null,
    upstream: null,
    route: [],
  });
  for (const asked of [
    `logs?upstream_id=${upstreamId}`,
    'logs?node=zulu-node',
    `statistics?upstream_id=${upstreamId}`,
    'statistics?group_by=upstream',
  ])
    expect(await get(`/usage/${asked}` as '/usage/logs', account.token)).toMatchObject({
      status: 400,
      body: { code: 'invalid_request' },
    });
});

test('administrators read all of it; users of a model that names its upstream read the name', async () => {
  const { account, rid, upstreamId } = await servedByZulu(true);
  expect((await get(`/usage/logs/${rid}/receipt`, plane.adminToken)).body).toMatchObject({
    node: 'zulu-node:0',
    upstream_id: upstreamId,
    route: [{ upstream_id: upstreamId }],
  });
  expect((await get('/usage/logs', account.token)).body.data).toMatchObject([
    {
      rid,
      upstream: expect.stringMatching(/^zulu-corp/),
      upstream_id: null,
      node: null,
      route: [],
    },
  ]);
});
