import { describe, expect, test } from '@jest/globals';
import { until } from '@tollgate/harness';
import type { LiveKey } from '@tollgate/keyspace';
import { ask, COMPLETION, json, node, upstreamOf } from './pipeline-under-test.ts';

/** The demo answer has 11 tokens of input and 5 of output. */
const REPORTED = 16;
/** Is the estimate of the prompt: 16 tokens for its message, and a token for 4 of its 9 bytes or more. */
const ESTIMATE_MIN = 16;

/** Makes a key with these limits, and a model that answers when it may. */
async function limited(limits: Partial<LiveKey>, mayAnswer: Promise<unknown> = Promise.resolve()) {
  const upstream = await upstreamOf((response) => {
    void mayAnswer.then(() => json(response, COMPLETION));
  });
  const model = await node.addModel([{ baseUrl: upstream.baseUrl, protocol: 'openai' }]);
  const { key } = await node.putKey(limits);
  const call = (path: string, more: object = {}) =>
    node.post(path, ask(model, { max_tokens: 50, ...more }), { authorization: `Bearer ${key}` });
  return { upstream, call };
}

const errorOf = async (response: Response) =>
  ((await response.json()) as { error: Record<string, unknown> }).error;

describe.each(['/v1/chat/completions', '/v1/messages'])('a key with limits, at %s', (path) => {
  test('is served while its minute has any tokens, and names the time at which it has some again', async () => {
    const limit = 3 * REPORTED;
    const { call, upstream } = await limited({ tpm: limit });
    const first = await call(path);
    const left = Number(first.headers.get('x-ratelimit-remaining-tokens'));
    expect(first.headers.get('x-ratelimit-limit-tokens')).toBe(String(limit));
    expect(left).toBeLessThanOrEqual(limit - ESTIMATE_MIN);
    await first.text();
    let served = 1;
    let refused = await call(path);
    for (; refused.status === 200; refused = await call(path)) {
      await refused.text();
      served += 1;
    }
    // Three times what is reported fills it; a fourth request may come before the first is settled.
    expect(served).toBeLessThanOrEqual(4);
    expect([refused.status, upstream.requests.length]).toEqual([429, served]);
    const seconds = Number(refused.headers.get('retry-after'));
    const reset = parseFloat(refused.headers.get('x-ratelimit-reset-tokens') ?? '');
    expect(seconds).toBe(Math.ceil(reset));
    expect(seconds).toBeGreaterThan(50);
    expect(refused.headers.get('anthropic-ratelimit-tokens-remaining')).toBe('0');
    expect(refused.headers.get('ratelimit-policy')).toBe(`"tpm";q=${limit};w=60`);
    expect((await errorOf(refused))['type']).toBe('rate_limit_error');
  });

  test('is refused a prompt above the whole minute for good, with both numbers', async () => {
    const { call, upstream } = await limited({ tpm: 10 });
    const refused = await call(path);
    expect([refused.status, refused.headers.get('x-should-retry')]).toEqual([429, 'false']);
    expect((await errorOf(refused))['message']).toMatch(/up to \d+ tokens, .* may use 10 tokens/);
    expect(upstream.requests).toEqual([]);
  });

  test('runs so many requests at a time, and the next when one has ended', async () => {
    const answer = Promise.withResolvers<void>();
    const { call, upstream } = await limited({ concurrency: 1 }, answer.promise);
    const first = call(path);
    await until('it runs', () => upstream.requests.length === 1);
    const second = await call(path);
    expect([second.status, second.headers.get('retry-after')]).toEqual([429, '1']);
    expect((await errorOf(second))['message']).toContain('1 at a time');
    answer.resolve();
    expect((await first).status).toBe(200);
    await until('the next is served', async () => (await call(path)).status === 200);
  });

  test('has a context and an answer of at most so many tokens', async () => {
    const long = { messages: [{ role: 'user', content: 'word '.repeat(100) }] };
    const { call, upstream } = await limited({ max_input_tokens: 60, max_output_tokens: 7 });
    const refused = await call(path, long);
    expect(refused.status).toBe(400);
    expect((await errorOf(refused))['message']).toMatch(/context length|prompt is too long/);
    expect((await call(path)).status).toBe(200);
    expect(upstream.requests.map(({ body }) => JSON.parse(body))).toMatchObject([
      { max_tokens: 7 },
    ]);
  });
});
