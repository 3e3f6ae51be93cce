import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { SnapshotModel } from '@tollgate/snapshot';
import { until } from '@tollgate/harness';
import { startLocalUpstream, type LocalUpstream } from '../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';

let node: NodeUnderTest;
let upstream: LocalUpstream;
let model: SnapshotModel;

beforeAll(async () => {
  node = await startNodeUnderTest();
  upstream = await startLocalUpstream((response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const message = { role: 'assistant', content: 'ok' };
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
  model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
}, 30_000);
afterAll(async () => {
  await node?.stop();
  await upstream?.close();
});

test('a node forgets that a key was over its limit as soon as its record was changed', async () => {
  const { key, hash } = await node.putKey({ rpm: 1 });
  const ask = async (): Promise<number> => {
    const answer = await node.post(
      '/v1/chat/completions',
      { model: model.name, messages: [{ role: 'user', content: 'hello' }] },
      { authorization: `Bearer ${key}` },
    );
    await answer.text();
    return answer.status;
  };
  const denials = async (): Promise<number> => {
    const requestId = crypto.randomUUID();
    await node.fleet.announce({
      kind: 'dump',
      node: null,
      request_id: requestId,
      table: null,
      page: 1,
      page_size: 1,
    });
    let entries = -1;
    await until('the dump has the denials', async () => {
      const [dump] = await node.fleet.readDumps(requestId, [{ name: 'node-test', worker: 0 }]);
      entries = dump?.tables.find(({ table }) => table === 'rate_denials')?.entries ?? -1;
      return entries >= 0;
    });
    return entries;
  };
  expect(await ask()).toBe(200);
  expect(await ask()).toBe(429);
  expect(await denials()).toBe(1);
  await node.fleet.announce({ kind: 'key_changed', key_hash: hash });
  await until('the denials are cleared', async () => (await denials()) === 0);
});
