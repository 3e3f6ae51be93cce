import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { usageFinalSchema } from '@tollgate/contracts';
import type { ServerResponse } from 'node:http';
import { startLocalUpstream, type LocalUpstream } from '../testing/local-upstream.ts';
import {
  NODE_CREDENTIAL,
  startNodeUnderTest,
  UPSTREAM_KEY,
  type NodeUnderTest,
} from '../testing/node-under-test.ts';

let node: NodeUnderTest;
const upstreams: LocalUpstream[] = [];

beforeAll(async () => {
  node = await startNodeUnderTest();
});
afterAll(async () => {
  await node.stop();
  await Promise.all(upstreams.map((upstream) => upstream.close()));
});

async function upstreamOf(
  answer: Parameters<typeof startLocalUpstream>[0],
): Promise<LocalUpstream> {
  const upstream = await startLocalUpstream(answer);
  upstreams.push(upstream);
  return upstream;
}

const USAGE = { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 };
const COMPLETION = {
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'real',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'hello there' }, finish_reason: 'stop' },
  ],
  usage: USAGE,
};

function json(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify(body));
}

const event = (data: unknown) =>
  `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
const chunk = (delta: object, finish: string | null = null) =>
  event({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'real',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
const STREAM = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ content: 'one ' }),
  chunk({ content: 'two' }),
  chunk({}, 'stop'),
  event({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'real',
    choices: [],
    usage: USAGE,
  }),
  event('[DONE]'),
];

function sse(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { 'content-type': 'text/event-stream' });
}

const ask = (model: { name: string }, more: object = {}) => ({
  model: model.name,
  messages: [{ role: 'user', content: 'say hello' }],
  ...more,
});

describe.each([-3_600_000, 3_600_000])('while the wall clock is set by %d ms', (jumpMs) => {
  test.each([false, true])(
    'durations of a running request stay what they were, and it is charged (stream: %s)',
    async (isStream) => {
      const wallClock = Date.now;
      const upstream = await upstreamOf((response) => {
        Date.now = () => wallClock() + jumpMs;
        if (isStream) sse(response).end(STREAM.join(''));
        else json(response, COMPLETION);
      });
      try {
        const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
        const response = await node.post('/v1/chat/completions', ask(model, { stream: isStream }));
        expect(response.status).toBe(200);
        await response.text();
        const final = await node.journalledFinal(response.headers.get('x-request-id'));
        expect(usageFinalSchema.parse(final)).toMatchObject({ outcome: 'completed' });
        const { duration_ms, first_token_ms, attempts } = usageFinalSchema.parse(final);
        for (const ms of [duration_ms, first_token_ms, attempts[0]?.duration_ms]) {
          expect(ms).toBeGreaterThanOrEqual(0);
          expect(ms).toBeLessThan(60_000);
        }
        expect(await node.settledBalance(model)).toBe(1_000_000 - 16);
      } finally {
        Date.now = wallClock;
      }
    },
  );
});

describe('a JSON chat', () => {
  test('is answered as the upstream answered it, and charged what the upstream reported', async () => {
    const upstream = await upstreamOf((response) =>
      json(response, COMPLETION, 200, {
        'x-request-id': 'theirs',
        'openai-organization': 'acme',
        'x-ratelimit-limit-requests': '5',
      }),
    );
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    const response = await node.post('/v1/chat/completions', ask(model));
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ ...COMPLETION, model: model.name });
    expect(response.headers.get('x-request-id')).toBe(response.headers.get('request-id'));
    expect(response.headers.get('x-request-id')).not.toBe('theirs');
    expect(response.headers.get('openai-organization')).toBeNull();
    expect(response.headers.get('x-ratelimit-limit-requests')).toBeNull();
    expect(await node.settledBalance(model)).toBe(1_000_000 - 16);
  });

  test('S33: sends upstream only what is on the allow-list, with the upstream own key and the default limit', async () => {
    const upstream = await upstreamOf((response) => json(response, COMPLETION));
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    await node.post('/v1/chat/completions', ask(model), {
      cookie: 'a=b',
      'x-api-base': 'http://evil.example',
      'x-forwarded-for': '1.2.3.4',
      'x-stainless-lang': 'js',
    });
    const [seen] = upstream.requests;
    expect(seen?.incoming.headers.authorization).toBe(`Bearer ${UPSTREAM_KEY}`);
    for (const name of ['cookie', 'x-api-base', 'x-forwarded-for', 'x-stainless-lang'])
      expect(seen?.incoming.headers[name]).toBeUndefined();
    expect(JSON.parse(seen?.body ?? '')).toMatchObject({ max_tokens: 4096 });
    expect(seen?.incoming.url).toBe('/v1/chat/completions');
  });

  test('lowers the output limit to what the balance pays for', async () => {
    const upstream = await upstreamOf((response) => json(response, COMPLETION));
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }], {}, 60);
    expect((await node.post('/v1/chat/completions', ask(model))).status).toBe(200);
    const { max_tokens } = JSON.parse(upstream.requests[0]?.body ?? '{}') as { max_tokens: number };
    expect(max_tokens).toBeGreaterThan(0);
    expect(max_tokens).toBeLessThan(60);
  });

  test('accepts a gzip body, and refuses a bomb with 413 before it is parsed', async () => {
    const { gzipSync } = await import('node:zlib');
    const upstream = await upstreamOf((response) => json(response, COMPLETION));
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    const send = (body: Buffer<ArrayBuffer>) =>
      fetch(`${node.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${node.apiKey}`, 'content-encoding': 'gzip' },
        body,
      });
    expect((await send(Buffer.from(gzipSync(JSON.stringify(ask(model)))))).status).toBe(200);
    expect((await send(Buffer.from(gzipSync(Buffer.alloc(64 * 1024 * 1024))))).status).toBe(413);
  });
});

describe('a streamed chat', () => {
  test('passes the bytes, hides the usage the client did not ask for, and charges it', async () => {
    const upstream = await upstreamOf((response) => sse(response).end(STREAM.join('')));
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    const response = await node.post('/v1/chat/completions', ask(model, { stream: true }));
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const text = await response.text();
    expect(text).toContain('"one "');
    expect(text).not.toContain('usage');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(JSON.parse(upstream.requests[0]?.body ?? '')).toMatchObject({
      stream_options: { include_usage: true },
    });
    expect(await node.settledBalance(model)).toBe(1_000_000 - 16);
  });

  test('behaviour 24: an error before the first content is a real status, after it an error in the stream', async () => {
    const before = await upstreamOf((response) =>
      sse(response).end(event({ error: { message: 'boom', type: 'server_error' } })),
    );
    const early = await node.addModel([{ baseUrl: before.baseUrl }]);
    expect((await node.post('/v1/chat/completions', ask(early, { stream: true }))).status).toBe(
      502,
    );
    expect(await node.settledBalance(early)).toBe(1_000_000);

    const after = await upstreamOf((response) => {
      sse(response).write(STREAM.slice(0, 3).join(''));
      setTimeout(() => response.destroy(), 50);
    });
    const late = await node.addModel([{ baseUrl: after.baseUrl }]);
    const response = await node.post('/v1/chat/completions', ask(late, { stream: true }));
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(text).toContain('"error"');
    expect(text).not.toContain('[DONE]');
    expect(await node.settledBalance(late)).toBeLessThan(1_000_000);
  });
});

describe('a session', () => {
  test('stays with the upstream that served it, moves when that one fails, and stays with the next', async () => {
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
    broken.clear();
    for (let turn = 0; turn < 6; turn++) expect((await say('a')).status).toBe(200);
    // One more than its twelve: the try that failed. The session does not come back by itself: the new cache is the warm one.
    expect(served()[home]).toBe(13);
    expect(served()[1 - home]).toBe(12);
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
        sse(response).write(STREAM[0]);
        setTimeout(() => response.destroy(), 20);
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

/** The gateway's own part in how a request ends: no upstream is asked, or none is to blame. */
describe('a request that reaches no upstream', () => {
  const scrape = async (): Promise<string> =>
    (
      await fetch(`${node.url}/metrics`, {
        headers: { authorization: `Bearer ${NODE_CREDENTIAL}` },
      })
    ).text();
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
