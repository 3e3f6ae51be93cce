import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { SnapshotModel } from '@tollgate/snapshot';
import { answerWithin } from '@tollgate/harness';
import { chunk, event, messageOf, sse, START, usage } from '../../testing/chat-stream.ts';
import { localUpstreams } from '../../testing/local-upstream.ts';
import {
  ACCOUNT_ID,
  startNodeUnderTest,
  type NodeUnderTest,
} from '../../testing/node-under-test.ts';

let node: NodeUnderTest;
const { upstreamOf, closeUpstreams } = localUpstreams();

beforeAll(async () => {
  node = await startNodeUnderTest({
    KEEP_ALIVE_MS: '300',
    STREAM_SLICE_OUTPUT_TOKENS: '20',
    CLIENT_STALL_TIMEOUT_MS: '1500',
  });
});
afterAll(async () => {
  await node.stop();
  await closeUpstreams();
});

const END = chunk({}, 'stop') + usage(3, 2) + event('[DONE]');

/** Reads a stream whose upstream answers only after the first keep-alive, which brings the headers. */
async function readSilent(
  answer: (response: ServerResponse) => void,
  ask: (baseUrl: string) => Promise<Response>,
): Promise<{ status: number; text: string }> {
  const { promise: isBridged, resolve } = Promise.withResolvers<void>();
  const upstream = await upstreamOf((response) => void isBridged.then(() => answer(response)));
  const response = await ask(upstream.baseUrl);
  resolve();
  return { status: response.status, text: await response.text() };
}

const chatAsk = (model: { name: string }) => ({
  model: model.name,
  stream: true,
  messages: [{ role: 'user', content: 'go' }],
});

test('behaviour 23: keeps a silent chat stream alive with a comment, also before the upstream answers', async () => {
  const { text } = await readSilent(
    (response) => sse(response).end(START + chunk({ content: 'at last' }) + END),
    async (baseUrl) =>
      node.post('/v1/chat/completions', chatAsk(await node.addModel([{ baseUrl }]))),
  );
  expect(text).toMatch(/^: ?/);
  expect(text).toContain('at last');
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
});

test('behaviour 23: keeps a silent messages stream alive with a ping', async () => {
  let model: SnapshotModel | undefined;
  const { text } = await readSilent(
    (response) => sse(response).end(messageOf('hi', 4, 3)),
    async (baseUrl) => {
      model = await node.addModel([{ baseUrl, protocol: 'anthropic' }]);
      return node.post(
        '/v1/messages',
        { ...chatAsk(model), max_tokens: 50 },
        { 'anthropic-version': '2023-06-01' },
      );
    },
  );
  expect(text).toMatch(/^event: ping\n/);
  expect(text).toContain('event: message_stop');
  expect(model && (await node.settledBalance(model))).toBe(1_000_000 - 7);
});

test('behaviour 24: the failure of an upstream after a keep-alive is reported in the stream', async () => {
  let model: SnapshotModel | undefined;
  const { status, text } = await readSilent(
    (response) =>
      response
        .writeHead(500, { 'content-type': 'application/json' })
        .end('{"error":{"message":"no"}}'),
    async (baseUrl) => {
      model = await node.addModel([{ baseUrl }]);
      return node.post('/v1/chat/completions', chatAsk(model));
    },
  );
  expect(status).toBe(200);
  expect(text).toContain('"error"');
  expect(text).not.toContain('[DONE]');
  expect(model && (await node.settledBalance(model))).toBe(1_000_000);
});

test('ends a stream whose balance runs out as if it had met its limit, charged within the balance', async () => {
  const upstream = await upstreamOf((response) => {
    sse(response).write(START);
    const timer = setInterval(() => response.write(chunk({ content: 'word '.repeat(2) })), 10);
    response.on('close', () => clearInterval(timer));
  });
  const model = await node.addModel([{ baseUrl: upstream.baseUrl }], {}, 120);
  const text = await (await node.post('/v1/chat/completions', chatAsk(model))).text();
  expect(text).toContain('"finish_reason":"length"');
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  await upstream.aborted;
  const balance = await node.settledBalance(model);
  expect(balance).toBeLessThan(60);
});

test('an answer whose finish was read is passed on to its end, whatever is left of the balance', async () => {
  const upstream = await upstreamOf((response) => {
    sse(response).write(START, () =>
      response.write(chunk({ content: 'word '.repeat(100) }, 'stop'), () =>
        response.end(usage(3, 100) + event('[DONE]')),
      ),
    );
  });
  const model = await node.addModel([{ baseUrl: upstream.baseUrl }], {}, 120);
  const text = await (
    await node.post('/v1/chat/completions', {
      ...chatAsk(model),
      stream_options: { include_usage: true },
    })
  ).text();
  expect(text.match(/"finish_reason":"\w+"/g)).toEqual(['"finish_reason":"stop"']);
  expect(text).toContain('"completion_tokens":100');
  expect(await node.settledBalance(model)).toBe(120 - 103);
});

test('ends a stream whose key is disabled at its next checkpoint, and bills it', async () => {
  const { key, hash } = await node.putKey({});
  const upstream = await upstreamOf((response) => {
    sse(response).write(START);
    const timer = setInterval(() => response.write(chunk({ content: 'word ' })), 20);
    response.on('close', () => clearInterval(timer));
  });
  const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
  const response = await node.post('/v1/chat/completions', chatAsk(model), {
    authorization: `Bearer ${key}`,
  });
  const live = await node.live.getKey(ACCOUNT_ID, hash);
  if (!live) throw new Error('the key must be live');
  await node.live.putKey({ ...live, status: 'disabled', revision: 2 });
  const text = await response.text();
  expect(text).not.toContain('[DONE]');
  expect(text).toContain('"error"');
  expect(await node.settledBalance(model)).toBeLessThan(1_000_000);
});

test('behaviour 30: a slow reader slows the upstream down instead of filling memory, and is cut when it stops reading', async () => {
  let written = 0;
  const upstream = await upstreamOf((response) => {
    sse(response).write(START);
    const line = chunk({ content: 'some words '.repeat(1_500) });
    const pump = (): void => {
      while (!response.destroyed && written < 200_000_000 && response.write(line))
        written += line.length;
      if (!response.destroyed) response.once('drain', pump);
    };
    pump();
  });
  const model = await node.addModel([{ baseUrl: upstream.baseUrl }], {}, 1_000_000_000);
  const { hostname, port } = new URL(node.url);
  const body = JSON.stringify({ ...chatAsk(model), max_tokens: 100_000_000 });
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${node.apiKey}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  socket.pause();
  await upstream.aborted;
  expect(written).toBeLessThan(30_000_000);
  await node.settledBalance(model);
  socket.destroy();
});

/** Returns the last usage report of a stream, in charged tokens when every weight is 1. */
function toldTokens(text: string): number {
  const report = text.slice(text.lastIndexOf('"usage":{'));
  return [...report.matchAll(/"(?:prompt|completion|input|output)_tokens":(\d+)/g)].reduce(
    (sum, [, tokens]) => sum + Number(tokens),
    0,
  );
}

test.each([
  ['chat', '/v1/chat/completions', { stream_options: { include_usage: true } }],
  ['messages', '/v1/messages', { max_tokens: 1_000 }],
])(
  'a %s client whose upstream reports no usage gets the charged usage',
  async (_protocol, path, fields) => {
    const words = Array.from({ length: 30 }, (_, index) =>
      chunk({ content: `untokenisable${index}` }),
    ).join('');
    const upstream = await upstreamOf((response) =>
      sse(response).end(START + words + chunk({}, 'stop') + event('[DONE]')),
    );
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    const messages = [{ role: 'user', content: 'a long prompt '.repeat(5_000) }];
    const text = await (
      await node.post(
        path,
        { ...chatAsk(model), ...fields, messages },
        { 'anthropic-version': '2023-06-01' },
      )
    ).text();
    const charged = 1_000_000 - (await node.settledBalance(model));
    expect(charged).toBeGreaterThan(15_000);
    expect(toldTokens(text)).toBe(charged);
  },
);

test.each([
  ['chat', '/v1/chat/completions', { stream_options: { include_usage: true } }],
  ['messages', '/v1/messages', { max_tokens: 1_000 }],
])(
  'a %s client whose stream ends with its balance gets the charged usage',
  async (_protocol, path, fields) => {
    const upstream = await upstreamOf((response) => {
      sse(response).write(START);
      const timer = setInterval(() => response.write(chunk({ content: 'wordwithnoendofit' })), 10);
      response.on('close', () => clearInterval(timer));
    });
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }], {}, 200);
    const text = await (
      await node.post(path, { ...chatAsk(model), ...fields }, { 'anthropic-version': '2023-06-01' })
    ).text();
    expect(text).toMatch(/"(finish_reason":"length|stop_reason":"max_tokens)"/);
    expect(toldTokens(text)).toBe(200 - (await node.settledBalance(model)));
  },
);

test('usage that is absurd is not believed: the request is charged by our own count', async () => {
  const upstream = await upstreamOf((response) =>
    sse(response).end(
      START +
        chunk({ content: 'one two' }) +
        chunk({}, 'stop') +
        usage(9_000_000_000_000, -1) +
        event('[DONE]'),
    ),
  );
  const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
  await (await node.post('/v1/chat/completions', chatAsk(model))).text();
  const balance = await node.settledBalance(model);
  expect(1_000_000 - balance).toBeGreaterThan(0);
  expect(1_000_000 - balance).toBeLessThan(30);
});

/** Returns the counts in the journal so far, of all requests. */
async function journalled(field: 'input' | 'output'): Promise<number[]> {
  const text = await node.journalText();
  return [...text.matchAll(new RegExp(`"${field}":(\\d+)`, 'g'))].map(([, count]) => Number(count));
}

const JOURNALLED_WITHIN_MS = 5_000;

test('the journal counts each piece of a stream that pauses, so that a kill between two charges what was sent', async () => {
  const words = (count: number) => chunk({ content: ' word'.repeat(count) });
  const counted = (tokens: number) =>
    answerWithin(JOURNALLED_WITHIN_MS, async () => (await journalled('output')).includes(tokens));
  const seen: (true | undefined)[] = [];
  const upstream = await upstreamOf(async (response) => {
    sse(response).write(START + words(4));
    seen.push(await counted(3));
    response.write(words(3));
    seen.push(await counted(6));
    response.end(END);
  });
  const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
  await (await node.post('/v1/chat/completions', chatAsk(model))).text();
  expect(seen).toEqual([true, true]);
});

test('the journal counts a long prompt as soon as its tokens are known, though the stream is silent', async () => {
  let isCounted: true | undefined;
  const upstream = await upstreamOf(async (response) => {
    sse(response).write(START + chunk({ content: 'so it begins' }));
    isCounted = await answerWithin(
      JOURNALLED_WITHIN_MS,
      async () => Math.max(...(await journalled('input'))) > 19_000,
    );
    response.end(END);
  });
  const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
  const ask = { ...chatAsk(model), messages: [{ role: 'user', content: 'word '.repeat(20_000) }] };
  await (await node.post('/v1/chat/completions', ask)).text();
  expect(isCounted).toBe(true);
});
