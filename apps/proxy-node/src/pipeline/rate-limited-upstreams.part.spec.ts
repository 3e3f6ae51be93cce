import { describe, expect, test } from '@jest/globals';
import type { SnapshotModel } from '@tollgate/snapshot';
import { ask, COMPLETION, json, node, upstreamOf } from './pipeline-under-test.ts';

const HOUR = '3600';

/** Makes a model with a route for each time to wait; `0` answers, `-1` fails. */
async function modelWaiting(protocol: 'openai' | 'anthropic', ...seconds: string[]) {
  const upstreams = await Promise.all(
    seconds.map((wait) =>
      upstreamOf((response) => {
        if (wait === '0') return json(response, COMPLETION);
        const limited = { error: { message: 'slow down', type: 'rate_limit_error' } };
        return wait === '-1'
          ? json(response, {}, 500)
          : json(response, limited, 429, { 'retry-after': wait });
      }),
    ),
  );
  const model = await node.addModel(
    upstreams.map(({ baseUrl }, priority) => ({ baseUrl, protocol, priority })),
  );
  return { upstreams, model };
}

async function seen(
  path: string,
  model: SnapshotModel,
  isStream = false,
): Promise<{ status: number; after: number; mayRetry: string | null; text: string }> {
  const response = await node.post(path, ask(model, { max_tokens: 50, stream: isStream }));
  return {
    status: response.status,
    after: Number(response.headers.get('retry-after')),
    mayRetry: response.headers.get('x-should-retry'),
    text: await response.text(),
  };
}

describe.each([
  ['/v1/chat/completions', 'openai', false],
  ['/v1/chat/completions', 'openai', true],
  ['/v1/messages', 'anthropic', false],
  ['/v1/messages', 'anthropic', true],
] as const)('%s on upstreams of protocol %s, stream %s', (path, protocol, isStream) => {
  test('gets 429 for every request while all upstreams limit requests, and asks none of them again', async () => {
    const { upstreams, model } = await modelWaiting(protocol, HOUR, HOUR);
    for (let request = 0; request < 3; request += 1) {
      const { status, after, mayRetry, text } = await seen(path, model, isStream);
      expect([status, after, mayRetry]).toEqual([429, 60, 'false']);
      expect(text).toContain('"rate_limit_error"');
      if (request > 0) expect(text).toMatch(/limiting requests; try again in 3(600|59\d) s\./);
    }
    expect(upstreams.map(({ requests }) => requests.length)).toEqual([1, 1]);
  });
});

describe('the time to wait of a request that a provider limits', () => {
  test('is that of the upstream which may be asked first', async () => {
    const { model } = await modelWaiting('openai', '5', HOUR);
    for (let request = 0; request < 2; request += 1) {
      const { status, after, mayRetry } = await seen('/v1/chat/completions', model);
      expect([status, mayRetry]).toEqual([429, null]);
      expect([4, 5]).toContain(after);
    }
  });

  test('is a second where another upstream failed, and may answer the next request', async () => {
    const { model } = await modelWaiting('openai', '-1', HOUR);
    const { status, after, mayRetry } = await seen('/v1/chat/completions', model);
    expect([status, after, mayRetry]).toEqual([429, 1, null]);
  });

  test('is not waited for where another upstream answers', async () => {
    const { model } = await modelWaiting('openai', HOUR, '0');
    expect((await seen('/v1/chat/completions', model)).status).toBe(200);
    expect((await seen('/v1/chat/completions', model)).status).toBe(200);
  });
});
