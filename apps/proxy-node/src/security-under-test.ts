import { afterAll, beforeAll } from '@jest/globals';
import type { SnapshotModel } from '@tollgate/snapshot';
import { startLocalUpstream, type LocalUpstream } from './testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from './testing/node-under-test.ts';

/** Runs the attacks of the threat model that a node itself must resist, by number. Attacks on a single part are in that part's spec. */
export let node: NodeUnderTest;
export let upstream: LocalUpstream;
let model: SnapshotModel;
/** Is the next report of the upstream. */
export const upstreamSays: { usage: unknown; headers: Record<string, string> } = {
  usage: null,
  headers: {},
};

export const HONEST = { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 };

export const chat = (more: object = {}) => ({
  model: model.name,
  messages: [{ role: 'user', content: 'hello' }],
  ...more,
});
export async function charged(send: () => Promise<unknown>): Promise<number> {
  const before = await node.settledBalance(model);
  await send();
  return before - (await node.settledBalance(model));
}

/** The spec that imports the parts calls this: one node and one upstream serve them all. */
export function shareNode(): void {
  beforeAll(async () => {
    node = await startNodeUnderTest();
    upstream = await startLocalUpstream((response, body) => {
      const choices = [
        {
          index: 0,
          message: { role: 'assistant', content: `you said ${body.length}` },
          finish_reason: 'stop',
        },
      ];
      response.writeHead(200, { 'content-type': 'application/json', ...upstreamSays.headers });
      response.end(
        JSON.stringify({
          id: 'c1',
          object: 'chat.completion',
          created: 1,
          model: 'real',
          choices,
          usage: upstreamSays.usage,
        }),
      );
    });
    model = await node.addModel([{ baseUrl: upstream.baseUrl }], {}, 100_000_000);
  });
  afterAll(async () => {
    await node.stop();
    await upstream.close();
  });
}
