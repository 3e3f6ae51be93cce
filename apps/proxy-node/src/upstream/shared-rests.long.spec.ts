import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@tollgate/harness';
import { pino } from 'pino';
import { readConfig } from '../config.ts';
import { startLocalUpstream, type LocalUpstream } from '../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';
import { startNode, type RunningNode } from '../wire.ts';

const OTHER = 'node-other';
/** A rest of a node's own is never longer. */
const REST_MS_MAX = 15_000;

const FAILURES_IN_ROW = 5;

let node: NodeUnderTest;
let other: RunningNode;
let dataDir: string;
let upstream: LocalUpstream;
let isBroken = true;

beforeAll(async () => {
  node = await startNodeUnderTest();
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-node-'));
  await node.fleet.setDesired(OTHER, { state: 'serve' });
  const config = readConfig({ ...node.environment, NODE_NAME: OTHER, DATA_DIR: dataDir });
  other = await startNode(config, pino({ level: 'silent' }));
  upstream = await startLocalUpstream((response) =>
    response
      .writeHead(isBroken ? 500 : 200, { 'content-type': 'application/json' })
      .end(isBroken ? '{"error":{"message":"no"}}' : ANSWER),
  );
}, 60_000);
afterAll(async () => {
  await other?.stop();
  await node?.stop();
  await upstream?.close();
  await rm(dataDir, { recursive: true, force: true });
});

const ANSWER = JSON.stringify({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'x',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

async function statusFrom(url: string, model: string): Promise<number> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${node.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
  });
  await response.arrayBuffer();
  return response.status;
}

test('a route that one node has seen fail rests on the other within seconds, until one of them sees it recover', async () => {
  const { name } = await node.addModel([{ baseUrl: upstream.baseUrl }]);
  const otherUrl = `http://127.0.0.1:${other.port}`;
  await until(
    'the other node serves the model',
    async () => (await statusFrom(otherUrl, name)) === 502,
  );
  const seenByOther = upstream.requests.length;
  for (let failure = 0; failure < FAILURES_IN_ROW; failure += 1)
    expect(await statusFrom(node.url, name)).toBe(502);
  // The status 503 means that nothing was sent. The other node itself has seen too few failures for that.
  await until(
    'the route rests on the other node',
    async () => (await statusFrom(otherUrl, name)) === 503,
  );
  expect(upstream.requests.length - FAILURES_IN_ROW).toBeLessThan(FAILURES_IN_ROW);
  expect(seenByOther).toBeLessThan(FAILURES_IN_ROW);

  isBroken = false;
  const brokenUntil = Date.now();
  await until(
    'the route recovers on this node',
    async () => (await statusFrom(node.url, name)) === 200,
    REST_MS_MAX,
  );
  await until(
    'the route recovers on the other node',
    async () => (await statusFrom(otherUrl, name)) === 200,
    REST_MS_MAX,
  );
  expect(Date.now() - brokenUntil).toBeLessThan(REST_MS_MAX);
}, 60_000);
