import { afterAll, beforeAll, expect } from '@jest/globals';
import { localUpstreams } from '../testing/local-upstream.ts';
import { ACCOUNT_ID, startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';

export const BOUGHT = 1_000_000;
export const DRAIN_TOKENS = 60;

export let node: NodeUnderTest;
const { upstreamOf, closeUpstreams } = localUpstreams();
export { upstreamOf };

interface Model {
  id: number;
  name: string;
}

/** Is the size of "say hello" in the template of the family that answers: 2 tokens of text, 7 beside it. */
export const PROMPT_TOKENS = 9;
export const ask = (model: Model, more: object = {}) => ({
  model: model.name,
  messages: [{ role: 'user', content: 'say hello' }],
  ...more,
});
export const COMPLETION = JSON.stringify({
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'real',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'hello there' }, finish_reason: 'stop' },
  ],
  usage: { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 },
});

/** Sends a request and leaves it at once when `left` resolves. */
export async function leave(
  body: object,
  left: Promise<unknown>,
  apiKey = node.apiKey,
): Promise<void> {
  const leaving = new AbortController();
  const answered = fetch(`${node.url}/v1/chat/completions`, {
    method: 'POST',
    signal: leaving.signal,
    headers: { authorization: `Bearer ${apiKey}` },
    body: JSON.stringify(body),
  }).then((response) => response.text());
  await left;
  leaving.abort();
  await expect(answered).rejects.toThrow();
}

export async function readThenLeave(
  body: object,
  isEnough: (text: string) => boolean,
): Promise<void> {
  const leaving = new AbortController();
  const response = await fetch(`${node.url}/v1/chat/completions`, {
    method: 'POST',
    signal: leaving.signal,
    headers: { authorization: `Bearer ${node.apiKey}` },
    body: JSON.stringify(body),
  });
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (!isEnough(text)) {
    const { value, done } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) throw new Error(`the stream ended before enough of it was read: ${text}`);
    text += decoder.decode(value, { stream: true });
  }
  leaving.abort();
}

export const charged = async (model: Model): Promise<number> =>
  BOUGHT - (await node.settledBalance(model as Parameters<typeof node.settledBalance>[0]));
export const balanceOf = async ({ id: modelId }: Model) =>
  (await node.live.getBalances([{ accountId: ACCOUNT_ID, modelId }]))[0];
export const signal = () => Promise.withResolvers<void>();

/** Starts one node, which serves all parts; the spec that imports them calls it. */
export function shareNode(): void {
  beforeAll(async () => {
    node = await startNodeUnderTest({
      JSON_DRAIN_MS: '1500',
      STREAM_DRAIN_MS: '1500',
      STREAM_DRAIN_TOKENS: String(DRAIN_TOKENS),
    });
  });
  afterAll(async () => {
    await node.stop();
    await closeUpstreams();
  });
}
