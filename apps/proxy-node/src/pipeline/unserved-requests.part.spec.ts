import { describe, expect, test } from '@jest/globals';
import { ask, COMPLETION, json, node, scrape, upstreamOf } from './pipeline-under-test.ts';

/** These tests show the gateway's own part in how a request ends: no upstream is asked, or none is to blame. */
describe('a request that reaches no upstream', () => {
  const response = (model: { name: string }, more: object = {}) => ({
    model: model.name,
    input: 'say hello',
    ...more,
  });

  test('because no route has words for it is refused before it is admitted: no usage, no place in the limits, its field named once', async () => {
    const upstream = await upstreamOf((reply) => json(reply, COMPLETION));
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    const { key } = await node.putKey({ rpm: 1 });
    const headers = { authorization: `Bearer ${key}` };
    const refused = await node.post(
      '/v1/responses',
      response(model, { previous_response_id: 'resp_1' }),
      headers,
    );
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      {
        error: {
          message:
            'previous_response_id is not supported here: nothing is stored; send the whole input.',
          param: 'previous_response_id',
          code: 'unsupported_parameter',
        },
      },
    ]);
    expect(await scrape()).toMatch(
      /tollgate_refusals_total\{status="400",code="unsupported_parameter",worker="0"\} 1\n/,
    );
    expect(await scrape()).not.toMatch(
      new RegExp(`operation_duration_seconds_count.*"${model.name}"`),
    );
    expect((await node.post('/v1/responses', response(model), headers)).status).toBe(200);
    expect(upstream.requests).toHaveLength(1);
  });

  test('by a route that has no words for it goes to the next one that has', async () => {
    const [foreign, native] = [
      await upstreamOf((reply) => json(reply, {}, 500)),
      await upstreamOf((reply) => json(reply, COMPLETION)),
    ];
    const model = await node.addModel([
      { baseUrl: foreign.baseUrl, protocol: 'anthropic', priority: 0 },
      { baseUrl: native.baseUrl, priority: 1 },
    ]);
    expect((await node.post('/v1/chat/completions', ask(model, { logprobs: true }))).status).toBe(
      200,
    );
    expect(foreign.requests).toHaveLength(0);
  });

  test('because all routes rest gets that reason and a time to retry, and its final lists the skipped routes', async () => {
    const upstream = await upstreamOf((reply) => json(reply, {}, 500));
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    for (let failure = 0; failure < 5; failure++)
      expect((await node.post('/v1/chat/completions', ask(model))).status).toBe(502);
    const refused = await node.post('/v1/chat/completions', ask(model));
    expect([refused.status, await refused.json()]).toMatchObject([
      503,
      { error: { message: 'No upstream serves this model at the moment.' } },
    ]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(upstream.requests).toHaveLength(5);
    expect(await node.journalledFinal(refused.headers.get('x-request-id'))).toMatchObject({
      outcome: 'upstream_failed',
      status: 503,
      upstream_id: null,
      charge: 0,
      attempts: [{ error: 'resting', duration_ms: 0 }],
    });
  });
});
