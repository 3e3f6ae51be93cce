import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { alterHold } from '@tollgate/harness';
import { keysLike, openRedis, redisReady, type RedisConnection } from '@tollgate/keyspace';
import {
  chunk,
  messageStart,
  messageText,
  sse,
  START,
  TEXT_START,
} from '../testing/chat-stream.ts';
import { localUpstreams } from '../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';

const MESSAGE =
  'The gateway could not renew its hold on the balance in time and ended the answer; access is not withdrawn. Send the request again.';

let node: NodeUnderTest;
let redis: RedisConnection;
const { upstreamOf, closeUpstreams } = localUpstreams();

beforeAll(async () => {
  node = await startNodeUnderTest();
  redis = openRedis(node.services.redisUrl, {
    ...{ role: 'plain', name: 'test', onError: () => undefined },
  });
  await redisReady(redis, 10_000);
}, 60_000);
afterAll(async () => {
  redis?.disconnect();
  await node?.stop();
  await closeUpstreams();
});

/** Ends it like an expired lease: the reaper ended it and charged nothing yet. */
async function reapHolds(): Promise<void> {
  for (const name of await keysLike(redis, '{s*}:hold:*'))
    await alterHold(redis, name, { st: 'reaped', chg: 0, c0: 0 });
}

test.each([
  {
    protocol: 'openai',
    path: '/v1/chat/completions',
    first: START + chunk({ content: 'a word' }),
    error: { error: { message: MESSAGE, type: 'server_error', param: null, code: 'overloaded' } },
  },
  {
    protocol: 'anthropic',
    path: '/v1/messages',
    first: messageStart(3) + TEXT_START + messageText('a word'),
    error: { type: 'error', error: { type: 'overloaded_error', message: MESSAGE } },
  },
] as const)(
  'a stream of $path whose hold was not renewed in time says so, and that it may be sent again',
  async ({ protocol, path, first, error }) => {
    const upstream = await upstreamOf((response) => void sse(response).write(first));
    // The hold is renewed within 5 s; the silence of the upstream must not end the stream before.
    const overrides = { idle_timeout_ms: 20_000 };
    const model = await node.addModel([{ baseUrl: upstream.baseUrl, protocol, overrides }]);
    const response = await node.post(
      path,
      {
        ...{ model: model.name, stream: true, max_tokens: 50 },
        messages: [{ role: 'user', content: 'go' }],
      },
      { 'anthropic-version': '2023-06-01' },
    );
    await reapHolds();
    const text = await response.text();
    const last = text.trimEnd().split('\ndata: ').at(-1) ?? '';
    expect(JSON.parse(last)).toMatchObject(error);
  },
  20_000,
);
