import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openRedis, redisReady, type RedisConnection } from '@tollgate/keyspace';
import { publishSnapshot, verifySnapshot, type PublishedSnapshot } from '@tollgate/snapshot';
import { until } from '@tollgate/harness';
import { startLocalUpstream, type LocalUpstream } from '../testing/local-upstream.ts';
import {
  startNodeUnderTest,
  UPSTREAM_KEY,
  type NodeUnderTest,
} from '../testing/node-under-test.ts';

let node: NodeUnderTest;
let redis: RedisConnection;
let provider: LocalUpstream;
let evil: LocalUpstream;
let modelName: string;

const answer = (who: string): Promise<LocalUpstream> =>
  startLocalUpstream((response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const message = { role: 'assistant', content: who };
    response.end(
      JSON.stringify({
        id: 'c',
        object: 'chat.completion',
        created: 1,
        model: 'real',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      }),
    );
  });
const ask = async (): Promise<string> =>
  (
    await node.post('/v1/chat/completions', {
      model: modelName,
      messages: [{ role: 'user', content: 'hello' }],
    })
  ).text();

beforeAll(async () => {
  [provider, evil] = await Promise.all([answer('provider'), answer('evil')]);
  node = await startNodeUnderTest({ SNAPSHOT_PULL_MS: '60000' });
  modelName = (await node.addModel([{ baseUrl: provider.baseUrl }])).name;
  redis = openRedis(node.services.redisUrl, {
    role: 'plain',
    name: 'attacker',
    onError: () => undefined,
  });
  await redisReady(redis, 5_000);
}, 30_000);
afterAll(async () => {
  redis?.disconnect();
  await node?.stop();
  await Promise.all([provider?.close(), evil?.close()]);
});

async function current(): Promise<PublishedSnapshot> {
  const version = await redis.get('{fleet}:snapshot:current');
  const text = await redis.get(`{fleet}:snapshot:${version}`);
  const verdict = verifySnapshot(JSON.parse(text ?? 'null'));
  if (verdict.kind !== 'ok') throw new Error(verdict.message);
  return verdict.snapshot;
}

test("S51: who can write Redis cannot lead a provider's key elsewhere", async () => {
  expect(await ask()).toContain('provider');
  expect(provider.requests[0]?.incoming.headers.authorization).toBe(`Bearer ${UPSTREAM_KEY}`);
  const { version, document } = structuredClone(await current());
  for (const upstream of document.upstreams) upstream.base_url = evil.baseUrl;
  for (const forgedVersion of [version, version + 1]) {
    const forged = publishSnapshot({ version: forgedVersion, document, publishedAtMs: Date.now() });
    const seal = JSON.parse((await redis.get(`{fleet}:snapshot:${version}:seal`)) ?? '{}');
    await redis.set(`{fleet}:snapshot:${forgedVersion}`, JSON.stringify(forged));
    await redis.set(
      `{fleet}:snapshot:${forgedVersion}:seal`,
      JSON.stringify({ ...seal, version: forgedVersion, checksum: forged.checksum }),
    );
    await redis.set('{fleet}:snapshot:current', String(forgedVersion));
    await redis.publish('{fleet}', JSON.stringify({ kind: 'snapshot', version: forgedVersion }));
    await redis.publish('{fleet}', JSON.stringify({ kind: 'reload', node: null }));
    await until(
      'the forged seal is reported',
      async () => (await node.report())?.refused?.includes('seal is forged') === true,
    );
    expect(await ask()).toContain('provider');
  }
  expect(evil.requests).toEqual([]);
});
