import { afterAll, beforeAll } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { chunk, event, usage } from '../testing/chat-stream.ts';
import { localUpstreams } from '../testing/local-upstream.ts';
import {
  NODE_CREDENTIAL,
  startNodeUnderTest,
  type NodeUnderTest,
} from '../testing/node-under-test.ts';

export let node: NodeUnderTest;
const { upstreamOf, closeUpstreams } = localUpstreams();
export { upstreamOf };

const USAGE = { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 };
export const COMPLETION = {
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'real',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'hello there' }, finish_reason: 'stop' },
  ],
  usage: USAGE,
};

export function json(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify(body));
}

export const STREAM = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ content: 'one ' }),
  chunk({ content: 'two' }),
  chunk({}, 'stop'),
  usage(USAGE.prompt_tokens, USAGE.completion_tokens),
  event('[DONE]'),
];

export const ask = (model: { name: string }, more: object = {}) => ({
  model: model.name,
  messages: [{ role: 'user', content: 'say hello' }],
  ...more,
});

/** Starts one node, which serves all parts; the spec that imports them calls it. */
export function shareNode(): void {
  beforeAll(async () => {
    node = await startNodeUnderTest();
  });
  afterAll(async () => {
    await node.stop();
    await closeUpstreams();
  });
}

/** Returns the metrics of the node. */
export const scrape = async (): Promise<string> =>
  (
    await fetch(`${node.url}/metrics`, {
      headers: { authorization: `Bearer ${NODE_CREDENTIAL}` },
    })
  ).text();
