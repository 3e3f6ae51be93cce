import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { usageFinalSchema } from '@tollgate/contracts';
import { event, sse } from '../testing/chat-stream.ts';
import { UPSTREAM_KEY } from '../testing/node-under-test.ts';
import { ask, COMPLETION, json, node, STREAM, upstreamOf } from './pipeline-under-test.ts';

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

  test("Claude's output limit is the first that docs/translation.md names of those that are set", async () => {
    const page = readFileSync(new URL('../../../../docs/translation.md', import.meta.url), 'utf8');
    const row = /^\| (.*4096) \| `max_tokens` \|$/m.exec(page)?.[1] ?? '';
    const names = [...row.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
    expect(names).toEqual(['max_completion_tokens', 'max_tokens', 'default_output_tokens']);
    const upstream = await upstreamOf((response) => json(response, {}, 500));
    const limitWith = async (set: Record<string, number>) => {
      const { default_output_tokens: ofModel, ...fields } = set;
      const model = await node.addModel(
        [{ baseUrl: upstream.baseUrl, protocol: 'anthropic' }],
        ofModel === undefined ? {} : { default_output_tokens: ofModel },
      );
      await node.post('/v1/chat/completions', ask(model, fields));
      return JSON.parse(upstream.requests.at(-1)?.body ?? '{}').max_tokens as number;
    };
    const set = names.map((name, at) => [name, 100 + at] as const);
    const limits: number[] = [];
    for (const from of [0, 1, 2, 3])
      limits.push(await limitWith(Object.fromEntries(set.slice(from))));
    expect(limits).toEqual([100, 101, 102, 4096]);
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
      sse(response).write(STREAM.slice(0, 3).join(''), () => response.destroy());
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
