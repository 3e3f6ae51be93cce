import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { hashCredential, isHoldSigned } from '@tollgate/contracts';
import { until } from '@tollgate/harness';
import { startLocalUpstream, type LocalUpstream } from '../testing/local-upstream.ts';
import {
  ACCOUNT_ID,
  NODE_CREDENTIAL,
  startNodeUnderTest,
  type NodeUnderTest,
} from '../testing/node-under-test.ts';

let node: NodeUnderTest;
let upstream: LocalUpstream;
const waiting: ServerResponse[] = [];

beforeAll(async () => {
  node = await startNodeUnderTest();
  upstream = await startLocalUpstream((response) => void waiting.push(response));
});
afterAll(async () => {
  await node.stop();
  await upstream.close();
});

test('S53: a node signs what its hold has used, so that no other can have it reaped for more', async () => {
  const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
  const asked = node.post('/v1/chat/completions', {
    model: model.name,
    max_tokens: 10,
    messages: [{ role: 'user', content: 'go' }],
  });
  await until('the upstream has the request', () => waiting.length === 1);
  const [hold = {}] = await node.openHolds();
  const { rid = '', mac = '' } = hold;
  const use = { rid, accountId: ACCOUNT_ID, modelId: model.id, usedTokens: Number(hold['used']) };
  const key = hashCredential(NODE_CREDENTIAL);
  expect(isHoldSigned(use, mac, key)).toBe(true);
  expect(isHoldSigned({ ...use, usedTokens: use.usedTokens + 1 }, mac, key)).toBe(false);
  for (const response of waiting) response.writeHead(500).end();
  await (await asked).text();
}, 30_000);
