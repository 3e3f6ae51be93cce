import { describe, expect, test } from '@jest/globals';
import { generateKeyPairSync } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { clockAheadMs } from '@tollgate/contracts';
import { until } from '@tollgate/harness';
import { ask, COMPLETION, json, node, upstreamOf } from './pipeline-under-test.ts';

const PLACE = '/projects/demo-project/locations/global';
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});
let accounts = 0;
/** Each account is another identity, with a token of its own. */
function account(): string {
  const file = {
    type: 'service_account',
    client_email: `${(accounts += 1)}@demo-project.iam.gserviceaccount.com`,
    private_key: privateKey,
  };
  return JSON.stringify({ type: 'google', service_account: JSON.stringify(file) });
}
const ANSWER = {
  candidates: [{ content: { parts: [{ text: 'hello' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 5, totalTokenCount: 16 },
};
const chat = (model: { name: string }) => node.post('/v1/chat/completions', ask(model));

/** Makes an upstream of Vertex at a double: it issues a token if it `grants` one. */
async function vertexOf(
  grants: () => boolean,
  answer: (response: ServerResponse, incoming: IncomingMessage) => void = (response) =>
    json(response, ANSWER),
) {
  const { baseUrl, requests } = await upstreamOf((response, _, incoming) => {
    if (incoming.url !== '/token') return answer(response, incoming);
    if (grants()) return json(response, { access_token: 'canary-access-token', expires_in: 3600 });
    return json(response, { error: 'invalid_grant' }, 400);
  });
  const spec = {
    baseUrl: `${baseUrl}${PLACE}`,
    protocol: 'vertex' as const,
    upstreamModel: 'gemini-2.5-flash',
    secret: account(),
  };
  return { spec, requests };
}

describe('an upstream whose requests carry a token', () => {
  test('rests while it has none, with that reason, and serves once there is one', async () => {
    let isGranted = false;
    const { spec, requests } = await vertexOf(() => isGranted);
    const model = await node.addModel([spec]);
    const refused = await chat(model);
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).not.toBeNull();
    await until('the node reports the upstream', async () =>
      ((await node.report())?.upstreams ?? []).some(({ open_for_ms }) => open_for_ms > 0),
    );
    isGranted = true;
    await until('it serves', async () => (await chat(model)).status === 200);
    const served = requests.filter(({ incoming }) => incoming.url !== '/token');
    expect(served.map(({ incoming }) => incoming.headers.authorization)).toEqual([
      'Bearer canary-access-token',
    ]);
  });

  test('is passed over for the next route, and the receipt says why', async () => {
    const { spec } = await vertexOf(() => false);
    let status = 200;
    const second = await upstreamOf((response) => json(response, COMPLETION, status));
    const model = await node.addModel([
      { ...spec, priority: 0 },
      { baseUrl: second.baseUrl, protocol: 'openai', priority: 1 },
    ]);
    expect((await chat(model)).status).toBe(200);
    status = 500;
    const failed = await chat(model);
    await failed.text();
    expect(await node.journalledFinal(failed.headers.get('x-request-id'))).toMatchObject({
      attempts: [{ status: 500 }, { error: 'no_token' }],
    });
  });

  test('repeats its token to no client', async () => {
    const { spec } = await vertexOf(
      () => true,
      (response, { headers }) =>
        json(response, { error: { code: 403, message: `bad ${headers.authorization}` } }, 403),
    );
    const model = await node.addModel([spec]);
    let said = '';
    await until('it answers', async () => {
      const answer = await chat(model);
      said = await answer.text();
      return !said.includes('resting');
    });
    expect(said).not.toContain('canary');
  });
});

test('a signature with the time of a wrong clock is made again with the time of the provider, and the node says that its clock is wrong', async () => {
  const aheadMs = 600_000;
  const stated = () => Date.now() + aheadMs;
  const { baseUrl } = await upstreamOf((response, _, { headers }) => {
    const [, date = '', time = ''] = /^(\d{8})T(\d{6})Z$/.exec(String(headers['x-amz-date'])) ?? [];
    const signedMs = Date.parse(
      `${date.replace(/(....)(..)(..)/, '$1-$2-$3')}T${time.replace(/(..)(..)(..)/, '$1:$2:$3')}Z`,
    );
    const isRight = Math.abs(signedMs - stated()) < 300_000;
    const at = { date: new Date(stated()).toUTCString() };
    if (!isRight) return json(response, { message: 'Signature expired' }, 403, at);
    const message = { role: 'assistant', content: [{ text: 'hello' }] };
    const usage = { inputTokens: 11, outputTokens: 5 };
    return json(response, { output: { message }, stopReason: 'end_turn', usage }, 200, at);
  });
  const model = await node.addModel([
    {
      baseUrl: new URL(baseUrl).origin,
      protocol: 'bedrock',
      upstreamModel: 'us.amazon.nova-2-lite-v1:0',
      secret: JSON.stringify({
        type: 'aws',
        region: 'us-east-1',
        access_key_id: 'AKIDEXAMPLE',
        secret_access_key: 'secret',
      }),
    },
  ]);
  expect((await chat(model)).status).toBeGreaterThanOrEqual(500);
  expect((await chat(model)).status).toBe(200);
  await until('the node reports its clock', async () => {
    const ahead = clockAheadMs((await node.report())?.abilities ?? []);
    return ahead !== undefined && Math.abs(ahead + aheadMs) < 5_000;
  });
});
