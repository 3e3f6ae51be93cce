import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import type { ServerResponse } from 'node:http';
import { letPass } from '@tollgate/harness';
import { chunk, event, sse, usage } from '../testing/chat-stream.ts';
import { localUpstreams } from '../testing/local-upstream.ts';
import {
  startNodeUnderTest,
  type NodeUnderTest,
  type UpstreamSpec,
} from '../testing/node-under-test.ts';

let node: NodeUnderTest;
const { upstreamOf, closeUpstreams } = localUpstreams();

beforeAll(async () => {
  node = await startNodeUnderTest({ ANSWER_BYTES_MAX: '2000000' });
});
afterAll(async () => {
  await node.stop();
  await closeUpstreams();
});

const TOKENS = 1_000_000;
const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const COMPLETION = JSON.stringify({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'x',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'one two' }, finish_reason: 'stop' },
  ],
  usage: USAGE,
});
const BEGIN = chunk({ role: 'assistant', content: '' }) + chunk({ content: 'one two' });
const WHOLE =
  BEGIN + chunk({}, 'stop') + usage(USAGE.prompt_tokens, USAGE.completion_tokens) + event('[DONE]');

async function ask(
  answer: (response: ServerResponse) => void,
  { isStream, overrides = {} }: { isStream: boolean; overrides?: UpstreamSpec['overrides'] },
) {
  const upstream = await upstreamOf(answer);
  const model = await node.addModel([
    { baseUrl: upstream.baseUrl, ...(overrides ? { overrides } : {}) },
  ]);
  const response = await node.post('/v1/chat/completions', {
    model: model.name,
    stream: isStream,
    messages: [{ role: 'user', content: 'go' }],
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    charged: TOKENS - (await node.settledBalance(model)),
  };
}

const QUICK = { first_token_timeout_ms: 400, idle_timeout_ms: 400, total_timeout_ms: 1_500 };

describe('an upstream that takes its time', () => {
  test('and never answers is 504 and free, streamed or not', async () => {
    for (const isStream of [true, false])
      expect(await ask(() => undefined, { isStream, overrides: QUICK })).toMatchObject({
        status: 504,
        charged: 0,
      });
  });

  test('and thinks in silence lives on its keep-alives, past the time its first content may take', async () => {
    const { status, text, charged } = await ask(
      (response) => {
        sse(response).write(': ping\n\n');
        const pings = setInterval(() => response.write(': ping\n\n'), 100);
        void letPass(900, 'twice the time that the first content may take').then(() => {
          clearInterval(pings);
          response.end(WHOLE);
        });
      },
      { isStream: true, overrides: QUICK },
    );
    expect([status, text.endsWith('data: [DONE]\n\n'), charged]).toEqual([200, true, 5]);
  });

  test('and falls silent in the middle ends as an error in the stream, billed for what was delivered', async () => {
    const { status, text, charged } = await ask((response) => void sse(response).write(BEGIN), {
      isStream: true,
      overrides: QUICK,
    });
    expect(status).toBe(200);
    expect(text).toContain('"error"');
    expect(text).not.toContain('[DONE]');
    expect(charged).toBeGreaterThan(2);
  });

  test('and trickles without end is cut at the total deadline', async () => {
    const { text } = await ask(
      (response) => {
        sse(response).write(BEGIN);
        const timer = setInterval(() => response.write(chunk({ content: 'more' })), 50);
        response.on('close', () => clearInterval(timer));
      },
      { isStream: true, overrides: QUICK },
    );
    expect(text).toContain('"error"');
  });
});

describe('an upstream that answers nonsense', () => {
  test('is 502 and free: HTML, broken JSON, an error inside a 200', async () => {
    for (const body of [
      '<html>hello</html>',
      '{"id": "cut o',
      '{"error":{"message":"fell over","type":"server_error"}}',
      '',
    ]) {
      for (const isStream of [false, true]) {
        const { status, charged } = await ask(
          (response) => response.writeHead(200, { 'content-type': 'text/html' }).end(body),
          { isStream },
        );
        expect([body, isStream, status, charged]).toEqual([body, isStream, 502, 0]);
      }
    }
  });

  test('behaviour 34: a JSON 200 to a stream request still reaches the client as a stream, charged as reported', async () => {
    const { headers, text, charged } = await ask(
      (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(COMPLETION),
      { isStream: true },
    );
    expect(headers.get('content-type')).toContain('text/event-stream');
    expect(text).toContain('one two');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(charged).toBe(5);
  });

  test('behaviour 24: a stream that ends without a finish is an error, never a success', async () => {
    const { text, charged } = await ask((response) => sse(response).end(BEGIN), { isStream: true });
    expect(text).toContain('"error"');
    expect(text).not.toContain('[DONE]');
    expect(charged).toBeGreaterThan(0);
  });

  test('a line of a megabyte passes', async () => {
    const { status, charged } = await ask(
      (response) => sse(response).end(`: ${'x'.repeat(1_000_000)}\n\n${WHOLE}`),
      { isStream: true },
    );
    expect([status, charged]).toEqual([200, 5]);
  });

  test('its 401 and 403 are never the caller’s', async () => {
    for (const status of [401, 403]) {
      const answer = await ask(
        (response) =>
          response
            .writeHead(status, { 'content-type': 'application/json' })
            .end('{"error":{"message":"Incorrect API key provided: sk-live-123456"}}'),
        { isStream: false },
      );
      expect(answer.status).toBe(502);
      expect(answer.text).not.toContain('sk-live');
    }
  });

  test('its 429 reaches the client with a Retry-After of 60 s at most', async () => {
    const { status, headers } = await ask(
      (response) =>
        response
          .writeHead(429, { 'content-type': 'application/json', 'retry-after': '900' })
          .end('{"error":{"message":"slow"}}'),
      { isStream: false },
    );
    expect([status, headers.get('retry-after'), headers.get('x-should-retry')]).toEqual([
      429,
      '60',
      'false',
    ]);
  });
});

describe('an upstream that compresses unasked', () => {
  test('behaviour 35: a gzip, br or zstd answer is decoded, streamed or not', async () => {
    for (const [encoding, compress] of [
      ['gzip', gzipSync],
      ['br', brotliCompressSync],
      ['zstd', zstdCompressSync],
    ] as const) {
      const streamed = await ask(
        (response) => sse(response, { 'content-encoding': encoding }).end(compress(WHOLE)),
        { isStream: true },
      );
      expect([encoding, streamed.text.endsWith('data: [DONE]\n\n'), streamed.charged]).toEqual([
        encoding,
        true,
        5,
      ]);
      const whole = await ask(
        (response) =>
          response
            .writeHead(200, { 'content-type': 'application/json', 'content-encoding': encoding })
            .end(compress(COMPLETION)),
        { isStream: false },
      );
      expect([encoding, whole.status, whole.charged]).toEqual([encoding, 200, 5]);
      expect(whole.headers.get('content-encoding')).toBeNull();
    }
  });

  test('S36: a bomb is cut at its decoded size', async () => {
    const bomb = gzipSync(Buffer.alloc(20_000_000, ' '));
    expect(
      await ask(
        (response) =>
          response
            .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
            .end(bomb),
        { isStream: false },
      ),
    ).toMatchObject({ status: 502, charged: 0 });
  });

  test('an answer above the size limit is charged for what arrived of it, and asked of no other route', async () => {
    const message = { role: 'assistant', content: 'word '.repeat(1_000) };
    const alternatives = Array.from({ length: 20 }, () => ({ token: ' x', logprob: -1 }));
    const one = { token: 'word ', top_logprobs: alternatives };
    const logprobs = { content: Array.from({ length: 4_000 }, () => one) };
    const choices = [{ index: 0, message, logprobs }];
    const large = await upstreamOf((response) =>
      response.end(JSON.stringify({ choices, usage: USAGE })),
    );
    const model = await node.addModel([{ baseUrl: large.baseUrl }, { baseUrl: large.baseUrl }]);
    const response = await node.post('/v1/chat/completions', {
      model: model.name,
      messages: [{ role: 'user', content: 'go' }],
    });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('"answer_too_large"');
    expect(large.requests).toHaveLength(1);
    const charged = TOKENS - (await node.settledBalance(model));
    expect(charged).toBeGreaterThan(1_000);
    expect(charged).toBeLessThan(4_100);
  });

  test('a stream above the size limit is charged for what arrived of it', async () => {
    const { text, charged } = await ask(
      (response) => sse(response).end(BEGIN + chunk({ content: 'word '.repeat(500_000) }) + WHOLE),
      { isStream: true },
    );
    expect(text).toContain('answer_too_large');
    expect(charged).toBeGreaterThan(2);
  });

  test('an unknown encoding is 502', async () => {
    expect(
      (
        await ask(
          (response) => response.writeHead(200, { 'content-encoding': 'rot13' }).end(COMPLETION),
          { isStream: false },
        )
      ).status,
    ).toBe(502);
  });
});

describe('an upstream that refuses the gateway', () => {
  /** Returns the statuses of two requests, the second of which the upstream would answer. */
  async function statusesAfter(refusal: number): Promise<number[]> {
    const statuses = [refusal, 200];
    const upstream = await upstreamOf((response) =>
      response
        .writeHead(statuses.shift() ?? 200, { 'content-type': 'application/json' })
        .end(statuses.length === 0 ? COMPLETION : '{"error":{"message":"no"}}'),
    );
    const { name } = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    const body = { model: name, messages: [{ role: 'user', content: 'go' }] };
    const first = await node.post('/v1/chat/completions', body);
    const second = await node.post('/v1/chat/completions', body);
    return [first.status, second.status];
  }

  test('rests at once when it refuses the key', async () => {
    for (const refusal of [401, 402])
      expect([refusal, ...(await statusesAfter(refusal))]).toEqual([refusal, 502, 503]);
  });

  test('serves on after a 403, which may be about one prompt', async () => {
    expect(await statusesAfter(403)).toEqual([502, 200]);
  });
});
