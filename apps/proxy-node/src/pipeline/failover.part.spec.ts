import { describe, expect, test } from '@jest/globals';
import { sse } from '../testing/chat-stream.ts';
import { UPSTREAM_KEY } from '../testing/node-under-test.ts';
import { ask, COMPLETION, json, node, STREAM, upstreamOf } from './pipeline-under-test.ts';

describe('a session', () => {
  test('stays with its upstream, goes to the next while that one fails, and is answered each time', async () => {
    const broken = new Set<number>();
    const [one, other] = await Promise.all(
      [0, 1].map((place) =>
        upstreamOf((response) =>
          broken.has(place)
            ? json(response, { error: { message: 'no' } }, 500)
            : json(response, COMPLETION),
        ),
      ),
    );
    if (!one || !other) throw new Error('two upstreams were asked for');
    const model = await node.addModel([{ baseUrl: one.baseUrl }, { baseUrl: other.baseUrl }]);
    const say = (session: string) =>
      node.post('/v1/chat/completions', ask(model), { 'session-id': session });
    const served = () => [one.requests.length, other.requests.length];
    for (let turn = 0; turn < 12; turn++) expect((await say('a')).status).toBe(200);
    expect(served().toSorted((a, b) => a - b)).toEqual([0, 12]);
    const home = served()[0] === 12 ? 0 : 1;
    broken.add(home);
    for (let turn = 0; turn < 6; turn++) expect((await say('a')).status).toBe(200);
    // Five failures in a row make the route rest, so that the sixth turn does not ask it.
    expect(served()[home]).toBe(17);
    expect(served()[1 - home]).toBe(6);
  });

  test('has no say over other sessions, which spread over all upstreams', async () => {
    const both = await Promise.all(
      [0, 1].map(() => upstreamOf((response) => json(response, COMPLETION))),
    );
    const model = await node.addModel(both.map(({ baseUrl }) => ({ baseUrl })));
    for (let session = 0; session < 40; session++)
      await node.post('/v1/chat/completions', ask(model, { prompt_cache_key: `s${session}` }));
    for (const { requests } of both) expect(requests.length).toBeGreaterThan(0);
  });
});

describe('failover', () => {
  test('goes to the next upstream when one cannot be reached, answers 5xx or 429, or dies before any content', async () => {
    const good = await upstreamOf((response, body) =>
      (JSON.parse(body) as { stream?: boolean }).stream
        ? sse(response).end(STREAM.join(''))
        : json(response, COMPLETION),
    );
    const bad = [
      await upstreamOf((response) => json(response, { error: { message: 'no' } }, 500)),
      await upstreamOf((response) =>
        json(response, { error: { message: 'slow down' } }, 429, { 'retry-after': '2' }),
      ),
      await upstreamOf((response) => {
        sse(response).write(STREAM[0], () => response.destroy());
      }),
    ].map(({ baseUrl }) => baseUrl);
    for (const baseUrl of [...bad, 'http://127.0.0.1:9/v1']) {
      const model = await node.addModel([
        { baseUrl, priority: 0 },
        { baseUrl: good.baseUrl, priority: 1 },
      ]);
      const response = await node.post('/v1/chat/completions', ask(model, { stream: true }));
      expect([baseUrl, response.status]).toEqual([baseUrl, 200]);
      expect(await response.text()).toContain('[DONE]');
      expect(await node.settledBalance(model)).toBe(1_000_000 - 16);
    }
  });

  test('S4: does not follow a redirect', async () => {
    const target = await upstreamOf((response) => json(response, COMPLETION));
    const redirecting = await upstreamOf((response) =>
      response.writeHead(307, { location: `${target.baseUrl}/chat/completions` }).end(),
    );
    const model = await node.addModel([{ baseUrl: redirecting.baseUrl }]);
    expect((await node.post('/v1/chat/completions', ask(model))).status).toBe(502);
    expect(target.requests).toHaveLength(0);
  });

  test('S1: dials no address the policy does not allow', async () => {
    const model = await node.addModel([{ baseUrl: 'http://169.254.169.254/v1' }]);
    expect((await node.post('/v1/chat/completions', ask(model))).status).toBe(502);
  });

  test('S14: an upstream that echoes our key does not tell it to the client', async () => {
    const upstream = await upstreamOf((response) =>
      json(
        response,
        { error: { message: `bad field near ${UPSTREAM_KEY}`, type: 'invalid_request_error' } },
        400,
      ),
    );
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    const response = await node.post('/v1/chat/completions', ask(model));
    expect(response.status).toBe(400);
    expect(await response.text()).not.toContain(UPSTREAM_KEY);
  });
});
